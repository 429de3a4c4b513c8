struct Broken {
    func before() {}
    func missing( { let x = }
    func after() -> Int { 1 }
}
func outside() {
    if true {
class Unclosed {
    func last() {}
