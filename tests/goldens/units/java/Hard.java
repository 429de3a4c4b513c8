/*
 * Licence text.
 */

// A comment that stands apart.

package org.example.hard;

import java.util.*;
import java.util.function.Function;
import static java.lang.Math.max;
import static org.example.Constants.*;

/** The file's main class. */
@Deprecated
@SuppressWarnings({"unchecked", "rawtypes"})
public abstract class Hard<T extends Comparable<T> & Cloneable>
    extends Base<List<? super T>>
    implements Runnable, AutoCloseable {

  private static final Map<String, Integer> TABLE = new HashMap<>();
  private final Function<T, String> lambda = t -> {
    return t.toString();
  };
  int a = 1, b[] = {1, 2};

  static {
    TABLE.put("one", 1);
    class InStatic {
      void deep() {}
    }
  }

  // An instance initializer.
  {
    a = 2;
  }

  /** A variable set to an anonymous class. */
  static final Comparator<String> ORDER = new Comparator<String>() {
    @Override
    public int compare(String left, String right) {
      return left.compareTo(right);
    }
  };

  /**
   * Makes one.
   *
   * @param a a number
   */
  @SafeVarargs
  public Hard(final int a, T... rest) throws IOException {
    this.a = a;
  }

  <U> Hard(U other) {
    this(1);
  }

  // Not a Javadoc comment.

  /** Generic. */
  public static <K, V extends Collection<? extends K>> Map<K, V> generic(
      K key,
      V value)
      throws IllegalStateException {
    Runnable r = () -> {
      Runnable inner = new Runnable() {
        public void run() { helper(); }
      };
      inner.run();
    };
    return null;
  }

  abstract void noBody();

  native int fromElsewhere(int[] a)[];

  @Override public void run() {
    class Local {
      int field;
      Local() {}
      int get() { return field; }
      record Point(int x) { int twice() { return 2 * x; } }
    }
    enum LocalEnum { A, B }
    interface LocalInterface { void m(); }
    submit(new Callable<String>() {
      { prepare(); }
      @Override
      public String call() {
        return "class NotAClass { void notAMethod() {} }";
      }
    });
  } // trailing comment

  /* A block comment. */ void sameLine() {}

  void overloaded() {} void overloaded(int a) {}

  void überprüfen() {}

  public class Inner {
    class Innermost extends Inner {
      void bottom() { Hard.this.run(); }
    }
  }

  static class Nested<X> { X x; }

  @interface Marker {}

  /** An annotation. */
  @Retention(RetentionPolicy.RUNTIME)
  public @interface Config {
    String value() default "";
    int[] sizes() default {1, 2};
    class Defaults { static int size() { return 1; } }
  }
}

/** Sealed. */
sealed interface Shape permits Circle, Square {
  int CONSTANT = 1;

  double area();

  default String describe() {
    return switch (this) {
      case Circle c when c.r() > 1 -> "big";
      case Circle(double r) -> "circle";
      default -> { yield "other"; }
    };
  }

  static Shape unit() { return new Circle(1); }

  private void hidden() {}
}

record Circle(double r) implements Shape {
  static int count;

  /** Compact. */
  Circle {
    if (r < 0) throw new IllegalArgumentException();
  }

  Circle(String text) { this(Double.parseDouble(text)); }

  @Override
  public double area() {
    return Math.PI * r * r;
  }
}

non-sealed class Square implements Shape { public double area() { return 1; } }

enum Operation implements IntBinaryOperator {
  /** Adds. */
  PLUS("+") {
    @Override
    public int applyAsInt(int a, int b) { return a + b; }
  },
  @Deprecated MINUS("-") {
    @Override
    public int applyAsInt(int a, int b) { return a - b; }
  },
  PLAIN,
  OTHER("x");

  private final String symbol;

  Operation() { this(""); }

  Operation(String symbol) {
    this.symbol = symbol;
  }

  public abstract int applyAsInt(int a, int b);
}

enum Empty {}
