#region License
// Licence text.
#endregion

#if NET8_0
#define MODERN
#endif

using System;
using System.Collections.Generic;
using static System.Math;
using Json = Newtonsoft.Json.Linq;
using Pair = (int, string);
global using System.Linq;
extern alias Old;

[assembly: InternalsVisibleTo("Tests")]

namespace Example.Hard
{
    using System.Text;

    /// <summary>The main class.</summary>
    /// <typeparam name="T">A type.</typeparam>
    [Serializable]
    [DebuggerDisplay("{Name}")]
    public abstract partial class Hard<T, U> : Base<T>, IDisposable, IThing
        where T : class, new()
        where U : struct
    {
        #region Fields
        private readonly int _a = 1;
        public const string Text = "class NotAClass { void No() {} }";
        private Func<int, int> _lambda = x => x + 1;
        public event EventHandler Simple;
        #endregion

        public int Auto { get; private set; } = 3;
        public required string Name { get; init; }

        /// <summary>Computed.</summary>
        public int Computed => _a * 2;

        public string Full
        {
            get { return _name; }
            set
            {
                _name = value ?? throw new ArgumentNullException(nameof(value));
            }
        }

        public int Arrows { get => _a; set => _a = value; }

        public virtual string this[int index, string key]
        {
            get => key;
        }

        public char this[Index i] => 'a';

        public event EventHandler Custom
        {
            add { Simple += value; }
            remove { Simple -= value; }
        }

        static Hard() { }

        /// <summary>Makes one.</summary>
        public Hard(int a, params string[] rest)
            : base(a)
        {
            _a = a;
        }

        ~Hard() => Dispose(false);

        [Obsolete("no")]
        public static Hard<T, U> operator +(Hard<T, U> left, Hard<T, U> right)
        {
            return left;
        }

        public static bool operator ==(Hard<T, U> a, Hard<T, U> b) => true;
        public static bool operator !=(Hard<T, U> a, Hard<T, U> b) => false;
        public static implicit operator int(Hard<T, U> h) => h._a;
        public static explicit operator List<string>(Hard<T, U> h) { return null; }

        // A comment directly above.
        public async Task<V> Generic<V>(V value, [CallerMemberName] string caller = "")
            where V : notnull
        {
            int Local(int x)
            {
                static int Deeper(int y) => y;
                return Deeper(x);
            }
            Func<int, int> f = delegate (int x) { return x; };
            var s = $"a {f(1)} {{ }}";
            var raw = """
                class Raw { void M() {} }
                """;
#if DEBUG
            Log(s);
#else
            Skip(s);
#endif
            await Task.Yield();
            return value;
        }

        void IThing.Explicit() { }
        int IThing.Property => 1;
        int IThing.this[int i] => i;

        public abstract void NoBody();
        partial void OnChanged(string name);
        [DllImport("x")] static extern int External(int a);

        public void Overloaded() { } public void Overloaded(int a) { }

#if NET8_0
        public void OnlyModern() { }
#else
        public void OnlyOld() { }
#endif

        #region Nested types
        /// <summary>Nested.</summary>
        private sealed class Nested { public void Deep() { } }
        public enum Kind { A, B = 2, }
        public delegate void Changed<in X>(object sender, X args);
        struct Point { public int X, Y; public readonly double Length() => Sqrt(X * X + Y * Y); }
        #endregion
    }

    public interface IThing
    {
        int Property { get; }
        void Explicit();
        void WithDefault() { Explicit(); }
        static abstract IThing Create();
        int this[int i] { get; }
    }

    namespace Inner.Most
    {
        public static class Extensions
        {
            public static string Shout(this string text) => text.ToUpper() + "!";
            internal static IEnumerable<T> Each<T>(this IEnumerable<T> items) { foreach (var i in items) yield return i; }
        }
    }

    /// <summary>A record.</summary>
    public record Person(string First, string Last)
    {
        public string Whole => $"{First} {Last}";
        public Person(string only) : this(only, "") { }
    }

    public record struct Size(int W, int H);
    public readonly record struct Money(decimal Amount);
    public class Primary(int a) { public int Twice() => a * 2; }
    public ref struct Span { }

    [Flags]
    enum Options : byte
    {
        None = 0,
        All = 1,
    }
}
