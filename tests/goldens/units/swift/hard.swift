// swift-tools-version:5.9
// Licence text.

import Foundation
@testable import MyApp
import struct SwiftUI.Color
@_exported import Other.Sub

/// A protocol.
public protocol Shape: AnyObject, Sendable {
    associatedtype Element: Hashable where Element: Codable
    var sides: Int { get }
    static var name: String { get set }
    init(sides: Int)
    func area() -> Double
    mutating func scale(by factor: Double) throws
    subscript(index: Int) -> Element { get }
}

/// A struct.
@frozen
public struct Point<T: Numeric>: Equatable, Codable where T: Comparable {
    public let x: T
    var y: T = 0
    static let zero = Point(x: 0)
    lazy var lazyValue: Int = {
        return 1
    }()

    /// Computed.
    var length: Double {
        return sqrt(Double(x * x + y * y))
    }

    var half: T {
        get { x / 2 }
        set { x = newValue * 2 }
    }

    var observed: Int = 0 {
        willSet { print(newValue) }
        didSet { print(oldValue) }
    }

    @Published var wrapped: String = "func notAFunction() {}"

    var body: some View { VStack { Text("x") } }

    /// Makes one.
    public init(x: T, y: T = 0) {
        self.x = x
        self.y = y
    }

    init?(text: String) { return nil }
    convenience init<U>(from other: U) where U: Sequence { self.init(x: 0) }

    subscript(index: Int) -> T {
        get { index == 0 ? x : y }
        set(value) { x = value }
    }

    static subscript<K>(key: K) -> Int { 1 }

    static func == (lhs: Point, rhs: Point) -> Bool {
        lhs.x == rhs.x
    }

    static prefix func - (p: Point) -> Point { p }

    // Mutates.
    @discardableResult
    mutating func move<U>(
        by delta: U,
        _ other: inout T
    ) async throws -> Self where U: BinaryInteger {
        func nested(_ x: Int) -> Int {
            let closure = { (y: Int) -> Int in y }
            return closure(x)
        }
        struct Local { func inLocal() {} }
        defer { done() }
        return self
    }

    enum CodingKeys: String, CodingKey {
        case x, y
    }

    typealias Scalar = T
}

open class Animal {
    weak var delegate: AnimalDelegate?
    let handler: (Int) -> Void = { _ in }

    required init() {}
    deinit {
        print("gone")
    }

    class func make() -> Animal { Animal() }
    @objc dynamic func speak() { }
    func `default`() {}
    final class Inner { class Innermost { func deep() {} } }

    #if DEBUG
    func onlyDebug() {}
    #else
    func onlyRelease() {}
    #endif
}

/// An enum.
indirect enum Tree<Value> {
    case leaf
    case node(Tree, Value, Tree)

    var depth: Int {
        switch self {
        case .leaf: return 0
        case let .node(l, _, r): return 1 + max(l.depth, r.depth)
        }
    }

    mutating func insert(_ v: Value) { }
}

actor Bank {
    private var balance = 0
    func deposit(_ n: Int) async { balance += n }
    nonisolated func name() -> String { "bank" }
}

// MARK: - Extensions

/// Adds.
extension Point: CustomStringConvertible {
    public var description: String { "\(x), \(y)" }
    func added() -> Self { self }
    struct Nested { func inNested() {} }
}

extension Array where Element == Int {
    func total() -> Int { reduce(0, +) }
}

extension Outer.Inner {
    func onInner() {}
}

extension Dictionary<String, Int> { func generic() {} }

infix operator <~>: AdditionPrecedence
precedencegroup Custom { associativity: left }

func <~> (a: Int, b: Int) -> Int { a }

/// Top level.
@available(iOS 15, *)
@MainActor
public func topLevel<T>(_ items: [T], then body: @escaping (T) -> Void) rethrows {
    let text = """
        func notInString() { \(items.count) }
        """
    let raw = #"class Not {}"#
    items.forEach { item in
        func inClosure() {}
        body(item)
    }
    if #available(iOS 16, *) { func inIf() {} }
}

var global: Int { 42 }
let constant = 1
typealias Callback = (Int) -> Void

#if os(macOS)
final class MacOnly { func m() {} }
#elseif os(Linux)
final class LinuxOnly { func m() {} }
#endif

@main
struct App {
    static func main() {}
}

func one() {}; func two() {}
func overloaded(_ a: Int) {}
func overloaded(_ a: String) {}

@resultBuilder
enum Builder { static func buildBlock(_ parts: String...) -> String { "" } }

final class Conditional {
    #if canImport(Security)
    static func evaluate(_ trust: SecTrust) -> Bool {
        true
    }

    #if !os(watchOS)
    /// Deeper.
    var deeper: Int { 1 }
    #endif
    #else
    static func evaluate() {}
    #endif

    private nonisolated(unsafe) var value: Int { 0 }

    func send(_ event: sending @escaping (any Error) -> Void) {
        call()
            #if DEBUG
            .log()
            #endif
    }

    enum Failure { case wrapped(error: any Error), other }
    func last() {}
}
