@file:JvmName("Hard")
@file:Suppress("unused")

/*
 * Licence.
 */

package org.example.hard

import kotlin.collections.*
import org.example.Other as Renamed
import org.example.`in`.Quoted
import java.util.Map.Entry

/** A data class. */
@Serializable
data class User(
    val name: String,
    @Transient val age: Int = 0,
) : Base<User>(name), Comparable<User> {
    init {
        require(age >= 0)
    }

    // Secondary.
    constructor(name: String) : this(name, 1) {
        log("made")
    }

    constructor() : this("nobody")

    /** Computed. */
    val upper: String
        get() = name.uppercase()

    var counter: Int = 0
        get() = field + 1
        private set(value) {
            field = value
        }

    val plain = 3
    var setOnly: String = ""
        private set
    val lazyOne by lazy { compute { 1 } }
    val lambda: (Int) -> Int = { x -> x + 1 }
    val anonymous = fun(x: Int): Int { return x }

    override fun compareTo(other: User): Int = age - other.age

    operator fun plus(other: User) = User(name + other.name)
    infix fun likes(other: User) = true
    fun String.shouted(): String = uppercase() + "!"

    /** A companion. */
    companion object {
        const val LIMIT = 10
        @JvmStatic
        fun create(text: String): User {
            fun parse(t: String) = t.trim()
            return User(parse(text))
        }
    }

    inner class Inner {
        fun outerName() = this@User.name
    }

    class Nested<in T, out R> where T : Any, T : Comparable<T> {
        fun <X> generic(x: X): X where X : CharSequence {
            return x
        }
    }
}

class Named {
    companion object Factory : Maker<Named> {
        override fun make() = Named()
    }
}

sealed interface Shape {
    val sides: Int
    fun area(): Double
    fun describe() { println("shape") }

    object Point : Shape {
        override val sides get() = 0
        override fun area() = 0.0
    }
    data object Nothing : Shape
    class Circle(val r: Double) : Shape { override fun area() = 3.14 * r * r }
}

sealed class Result<out T>
abstract class Abstract { abstract fun noBody(x: Int): String; abstract val p: Int }

enum class Op(val symbol: String) : (Int, Int) -> Int {
    /** Adds. */
    PLUS("+") {
        override fun invoke(a: Int, b: Int) = a + b
    },
    MINUS("-") { override fun invoke(a: Int, b: Int) = a - b },
    OTHER("o");

    open fun name2() = symbol
    companion object { fun of(s: String) = values().first { it.symbol == s } }
}

enum class Bare { A, B }

@Retention(AnnotationRetention.SOURCE)
annotation class Fancy(val why: String)

@JvmInline
value class Password(private val s: String)

fun interface Action<T> { fun run(t: T): Unit }

object Registry : Map<String, Int> by HashMap() {
    private val table = mutableMapOf<String, Int>()
    fun register(name: String) { table[name] = 1 }
}

typealias Handler<T> = suspend (T) -> Unit

/**
 * An extension.
 */
@Deprecated("no")
inline fun <reified T : Any> List<T>.secondOrNull(): T? =
    if (size < 2) null else this[1]

fun String?.orDash() = this ?: "-"
fun Map<String, List<Int>>.total(): Int { return values.sumOf { it.sum() } }
fun (() -> Int).twice() = this() * 2
fun Registry.Companion.later() {}
val String.half: String
    get() = substring(0, length / 2)

suspend fun top(
    a: Int,
    b: String = "fun notAFunction() {}",
): Int {
    class Local { fun inLocal() = 1 }
    val listener = object : Listener, Other() {
        override fun onEvent(e: Event) {
            handle(e)
        }
    }
    register(object : Callback {
        override fun call() {}
    })
    return """
        class NotAClass { fun no() {} ${a + b.length} }
    """.length
}

fun `with spaces in name`() {}
tailrec fun gcd(a: Int, b: Int): Int = if (b == 0) a else gcd(b, a % b)
private fun expression() = when (val x = 1) {
    1 -> { fun inWhen() = 2; inWhen() }
    else -> 3
}

val dsl = html {
    body {
        fun inLambda() = 1
        p { +"text" }
    }
}

val singleton = object : Runnable { override fun run() {} }

interface Empty
class Plain
expect fun platform(): String

class Accessors {
    // Getter, then setter.
    val both: Int
        /** Reads. */
        get() = 1
        // Between.
        set(v) {}

    var reversed = 1
        set(v) {
            field = v
        }
        get() { return field }
    var inline: Int get() = 1
        set(v) {}
    val guarded: Int
        @Synchronized get() = 1
        private set
    var (a, b) = 1 to 2

    /** Apart. */
    fun next() {}
}

expect open class Split
// Why it is not public.
internal constructor(data: ByteArray) : Comparable<Split> {
    fun inside() {}
}

actual class Injected<T>
@Inject
constructor(internal actual val data: T) {
    fun alsoInside() {}
}

/** Documented and annotated. */
@Throws(IOException::class)
fun annotated() {}
