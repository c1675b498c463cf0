/**
 * An operation of the interface as data and one function: what it takes, what it gives, what it does. The same zod
 * objects guard requests and answers and describe the operation to readers.
 */
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import type { AssertedCaller } from '#src/contract/assertion.ts';
import type { BodyBounds } from './read-body.ts';

export type OperationInput<P> = {
  params: P;
  caller: AssertedCaller;
  /** The restaurant that this request is about (interface 3.3); "" for operations without one. */
  restuid: string;
  requestId: string;
  now: Date;
  /** Open transaction on POST, plain connection pool on GET. */
  db: Kysely<unknown>;
  /** Is the request the first with its Idempotency-Key, or without one? Always true where a handler runs. */
  signal: AbortSignal;
};

export type OperationAnswer<A> =
  | { body: A; headers?: Readonly<Record<string, string>> }
  /** The whole answer as text, where it is so large that it was made in slices. It is not held to the schema again. */
  | { json: string; headers?: Readonly<Record<string, string>> };

export type Operation<P = unknown, A = unknown> = {
  method: 'GET' | 'POST';
  /** Below /api, for example `/orders/list`. */
  path: string;
  summary: string;
  /** One object for query and body together. */
  params: z.ZodObject<Readonly<Record<string, z.ZodType>>> & z.ZodType<P>;
  answer: z.ZodType<A>;
  /** False: the operation is not about one restaurant. Default true. */
  restaurant?: boolean;
  /** Scopes that depend on the body (interface 6.2 step 13). */
  scopesOf?: (params: P) => readonly string[];
  body?: BodyBounds;
  /** Long work: served by a thread of its own where the program has one. */
  apart?: true;
  /** Refusals of steps 15-17 are thrown as Fault by the route; the use case returns them as values. */
  handle(input: OperationInput<P>): Promise<OperationAnswer<A>>;
};

/** Infers parameter and answer types from the schemas. */
export const operation = <P, A>(definition: Operation<P, A>): Operation => definition as unknown as Operation;
