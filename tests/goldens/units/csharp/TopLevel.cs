using System;

Console.WriteLine(Greet("you"));
var add = (int a, int b) => a + b;

// A local function.
static string Greet(string name)
{
    return $"Hello {name}";
}

if (args.Length > 0)
{
    int Inner() => 1;
    return Inner();
}

class Program2
{
    void Run() { }
}
