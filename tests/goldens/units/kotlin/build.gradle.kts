plugins {
    kotlin("jvm") version "2.0.0"
}

// Tasks.
tasks.register("hello") {
    doLast { println("hi") }
}

fun versionOf(name: String): String = "1.0"
