import type { Shape } from "./shape";
import * as React from "react";
import fs = require("fs");

export interface Store<T> extends Base, Closeable {
  name: string;
  get(key: string, fallback?: T): T;
}
export type Id = string | number;
export enum Color { Red, Green = "g" }
namespace Deep.Space { export function probe(): void {} }

@sealed
export abstract class Shop<T> extends Base<T> implements Store<T>, Other {
  private items: Map<Id, T> = new Map();
  constructor(private readonly owner: string, public size = 1) { super(); }
  abstract area(): number;
  @log() get<K extends Id>(key: K, fallback?: T): T { return this.items.get(key) ?? fallback!; }
  static of = async <T,>(x: T): Promise<Shop<T>> => make<T>(x);
}
declare function outside(a: number): string;
export function overload(a: string): void;
export function overload(a: any, ...rest: unknown[]): void { if (a) outside(<number>a); }
const arrow = (n: number): number => n > 0 ? arrow(n - 1) : 0;
