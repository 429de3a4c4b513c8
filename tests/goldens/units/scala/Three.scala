package org.example.three

import scala.math.*
import a.{b as c, *}
import a.given

// An enum.
enum Color(val rgb: Int):
  case Red extends Color(0xFF0000)
  case Green, Blue

  def hex: String =
    rgb.toHexString
end Color

enum Option[+T] {
  case Some(x: T)
  case None

  def isDefined: Boolean = this match
    case None => false
    case some => true
}

/** A trait. */
trait Show[T]:
  def show(t: T): String
  extension (t: T) def shown: String = show(t)

given intShow: Show[Int] with
  def show(t: Int): String = t.toString

given Show[String] with
  def show(t: String): String =
    t

given listShow[T](using s: Show[T]): Show[List[T]] with
  def show(t: List[T]): String =
    t.map(s.show).mkString

given Conversion[String, Int] = _.length

/** Extends. */
extension (s: String)
  def shout: String = s.toUpperCase + "!"
  def twice(n: Int): String =
    def again = s + s
    again

extension [T](xs: List[T])(using Show[T])
  def second: T = xs.tail.head

extension (x: Int) infix def power(n: Int): Int = n

class Service(using db: Database) extends Base:
  private val cache = 1

  def fetch(id: Int): Either[String, Int] =
    if id > 0 then
      Right(id)
    else
      Left("no")

  def withUsing(using x: Int): Int = x

  object Nested:
    def deep = 1
  end Nested
end Service

object Runner:
  opaque type Id = Long
  type F = [X] =>> List[X]
  inline def inlined(inline x: Int): Int = x
  transparent inline def macroed[T]: Any = ${ impl }
  val anonymous = new Show[Int]:
    def show(t: Int) = "x"

@main def hello(args: String*): Unit =
  println("hello")

def topLevel(x: Int): Int = x

def after(): Unit = ()

type TopAlias = Int | String

object Comments:
  /** Of first. */
  def first(x: Int): Int =
    x
    // of first, too

  // of none

  /** Of second. */
  def second =
    val y = 1
    y
  // about third
  def third = 3

  // at the end of the object
// about the class below
class Below
