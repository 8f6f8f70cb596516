package com.example.shop;

import java.util.List;
import static java.lang.Math.*;
import java.util.function.*;

/** class InComment {} */
@Deprecated
public class Shop<T> extends Base<T> implements Closeable, Comparable<Shop<T>> {
    private final List<T> items = new ArrayList<>();
    public Shop(String owner, T... rest) { super(owner); this.add(rest); }
    @Override public int compareTo(Shop<T> other) {
        for (T item : items) if (item != null && max(1, 2) > 0) return other.items.size();
        Runnable r = () -> System.out.println("void inString() {}");
        return new Object() { int inner() { return 1; } }.inner();
    }
    interface Visitor { void visit(int n); default void end() {} }
    enum Color { RED { void paint() {} }, GREEN; void paint() { switch (this) { case RED: break; default: } } }
    record Point(int x, int y) { Point { check(x); } }
    @interface Marker { String value() default ""; }
}
