class Broken {
    fun before() {}
    fun missing( { val x = }
    fun after() = 1
}
fun outside() {
    if (true) {
class Unclosed {
    fun last() {}
