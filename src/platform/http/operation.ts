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
  /**
   * What must ask the network before a POST changes anything: outside the transaction, and not for an answer that is
   * replayed. `db` is the plain pool. Throws as `handle` does.
   */
  check?(input: OperationInput<P>): Promise<void>;
  /** False: a POST that waits for the network and changes nothing gets no transaction, which would hold a connection. */
  transaction?: boolean;
  /** True: request or answer hold a secret, so that their receipt is kept sealed. */
  isSecret?: boolean;
  /** Long work: served by a process of its own where the program has one. */
  apart?: true;
  /** Refusals of steps 15-17 are thrown as Fault by the route; the use case returns them as values. */
  handle(input: OperationInput<P>): Promise<OperationAnswer<A>>;
};

/** Infers parameter and answer types from the schemas. */
export const operation = <P, A>(definition: Operation<P, A>): Operation => definition as unknown as Operation;

/** The tenant that a request is about, for features that do not know what their tenants are. */
export const tenantOf = ({ restuid }: { restuid: string }): string => restuid;
