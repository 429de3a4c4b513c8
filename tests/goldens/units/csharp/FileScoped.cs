namespace Example.FileScoped;

using System;

// First.
public class One
{
    public void M() { }
}

file static class Two { internal static int N() => 1; }

public delegate int Callback(string s);
