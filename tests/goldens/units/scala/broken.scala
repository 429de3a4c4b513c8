class Broken {
  def before = 1
  def missing( = {
  def after = 2
}
object Unclosed {
  def last() = {
