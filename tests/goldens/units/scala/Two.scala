/*
 * Licence.
 */
package org.example
package hard

import scala.collection.mutable
import scala.concurrent.{Future, ExecutionContext => EC}
import java.util._
import a.b, c.d

/** A package object. */
package object util {
  type Id = Long
  def helper(x: Int): Int = x
}

/** A case class. */
@SerialVersionUID(1L)
final case class User(name: String, age: Int = 0)(implicit ec: EC)
    extends Base[User](name)
    with Ordered[User] {
  require(age >= 0)

  // Secondary.
  def this(name: String) = this(name, 1)

  private[this] val table = mutable.Map.empty[String, Int]
  val lambda: Int => Int = x => x + 1
  val block = (x: Int) => {
    def inLambda(y: Int) = y
    inLambda(x)
  }
  lazy val computed: Int = {
    def inVal = 1
    inVal
  }

  /** Compares. */
  override def compare(that: User): Int = age - that.age

  def +(other: User): User = this
  def unary_! : Boolean = false
  def name_=(n: String): Unit = {}
  def `quoted name`(x: Int) = x
  def ::(x: Int) = this

  @tailrec
  private def generic[A <: AnyRef, F[_]: Monad](
      a: A,
      f: F[A] => Unit
  )(implicit ord: Ordering[A]): F[A] = {
    def nested(n: Int): Int = {
      def deeper = n
      deeper
    }
    class Local { def inLocal = 1 }
    object LocalObject { def inObject = 1 }
    ???
  }

  def procedure(x: Int) {
    println(s"class Not { def no = ${x + 1} }")
  }

  object Inner { val x = 1; def get = x }
}

/** The companion. */
object User extends (String => User) {
  implicit val ordering: Ordering[User] = new Ordering[User] {
    override def compare(a: User, b: User): Int = 0
  }
  implicit def toUser(s: String): User = apply(s)
  implicit class RichUser(val u: User) extends AnyVal {
    def shout: String = u.name.toUpperCase
  }
  def apply(s: String): User = new User(s)
  def unapply(u: User): Option[String] = Some(u.name)
  val reader = new Reader with Closeable {
    def read() = 1
  }
  def make(): Reader = new Reader {
    def read() = 2
  }
  case object Nobody
  case class Other(x: Int)
}

sealed trait Shape[+A] { self: Product =>
  type Out <: A
  type Alias[X] = Map[X, Out]
  def area: Double
  def sides(): Int
  val v: Int
  protected def describe(): String = """def no() = 1"""
}

abstract class Abstract[T](val t: T)
class Plain
trait Empty
object Main extends App {
  def run(): Unit = run match {
    case _ if true =>
      def inCase() = 1
      inCase()
  }
  /* block */ def sameLine = 1; def after = 2
}
