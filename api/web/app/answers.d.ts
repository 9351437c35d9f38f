// What the service answers, by the path of the call. The types are generated from docs/openapi.json by `make check`,
// so that a field or a path that does not exist fails there.
import type { paths } from "../../../.build/web/api.d.ts";

export type * from "../../../.build/web/api.d.ts";

type Method = "get" | "post" | "put";
type Json<Of> = Of extends { content: { "application/json": infer Body } } ? Body : never;
type Responses<Of> = Of extends { responses: infer All } ? All : never;
type Done<All> = Json<All[keyof All & (200 | 201 | 202)]>;

/** `/a/{id}/b` as a call writes it: `/a/${string}/b`. */
type Written<Path extends string> = Path extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Written<After>}`
  : Path;
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;
/** The path of the document that a call's path is of; never where there is none. */
type Named<Path extends string> = {
  [Name in keyof paths]: Same<Written<Name>, Path> extends true ? Name : never;
}[keyof paths];
type Operation<Path extends string, By extends Method> = Path extends string
  ? paths[Named<Path>][By]
  : never;

/** What the service answers when it does what it was asked for. */
export type Answer<Path extends string, By extends Method = "get"> = Done<
  Responses<Operation<Path, By>>
>;
type Asked<Of> = Of extends { parameters: { query?: infer Query } } ? keyof NonNullable<Query> : never;
/** The names that a call's query may have. */
export type Query<Path extends string> = {
  [Name in Asked<Operation<Path, "get">> & string]?: string | number | null | undefined;
};
/** What a call sends. */
export type Body<Path extends string, By extends Method> =
  Operation<Path, By> extends { requestBody?: infer Sent } ? Json<NonNullable<Sent>> : undefined;
type Names<Of> = Of extends unknown ? keyof Of : never;
/** What a call sends, and no field beside: the service refuses one that it does not know. */
export type Exactly<Sent, Wanted> = Sent & { [Extra in Exclude<Names<Sent>, Names<Wanted>>]?: never };
/** A page of a list, whose rows are in `Field`. */
export type Row<Path extends string, Field extends keyof Answer<Path>> =
  Answer<Path>[Field] extends readonly (infer One)[] ? One : never;
