namespace Example.FileScoped;

using System;

// First.
public class One
{
    public void M() { }
}

file static class Two { internal static int N() => 1; }

public delegate int Callback(string s);

#if HAVE_ASYNC
/// <summary>Conditional bases.</summary>
public partial class Conditional : Base<int>, IEquatable<int>
#if HAVE_ICONVERTIBLE
    , IConvertible
#endif
{
#if HAVE_TASKS
    public Task<int> Read(int a)
#else
    public int Read(int a)
#endif
    {
        return 1;
    }

#if A
    void OnlyA() { }
#elif B
    void OnlyB() { }
#else
    // Neither.
    void Neither() { }
#endif

    void Inside()
    {
#if A
        if (a) {
#else
        if (b) {
#endif
            Run();
        }
    }

#if NESTED
#if DEEPER
    int X => 1;
#endif
    int Y => 2;
#endif
    void Last() { }
}
#endif
