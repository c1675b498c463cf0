/**
 * An operation of the interface as data and one function: its parameters, its answer, its work. The same zod objects check
 * requests and answers and describe the operation in the documentation.
 */
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import type { AssertedCaller } from '#src/contract/assertion.ts';
import { tenantMember } from '#src/contract/event.ts';
import type { FaultCode } from '#src/contract/fault.ts';
import type { BodyBounds } from './read-body.ts';

export type OperationInput<P> = {
  params: P;
  caller: AssertedCaller;
  /** The tenant of this request (interface 3.3); "" for operations without one. */
  [tenantMember]: string;
  requestId: string;
  /** The time of the start of the work. */
  now: Date;
  /** The time of the call, for a change that waits for a lock first. */
  readNow: () => Date;
  /** The open transaction for POST, the connection pool for GET. */
  db: Kysely<unknown>;
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
};

export type OperationAnswer<A> =
  | { body: A; headers?: Readonly<Record<string, string>> }
  /** The whole answer as text, where it is so large that it was built in slices. The schema does not check it again. */
  | { json: string; headers?: Readonly<Record<string, string>> };

/** An error of one operation: its code, or [code, status] when the status differs from that of the code. */
export type OwnError = FaultCode | readonly [FaultCode, number];

export type Operation<P = unknown, A = unknown, C = unknown> = {
  method: 'GET' | 'POST';
  /** Below /api, for example `/events/list`. */
  path: string;
  summary: string;
  /** For the reference: errors of this operation beside those that every operation can give. */
  errors?: readonly OwnError[];
  /** For the reference: the operation adds something and changes or removes nothing that is there. */
  addsOnly?: true;
  /** For the reference: types of the events that this operation can publish. */
  emits?: readonly string[];
  /** One schema for query and body together. */
  params: z.ZodObject<Readonly<Record<string, z.ZodType>>> & z.ZodType<P>;
  answer: z.ZodType<A>;
  /** False: the operation belongs to no single tenant. Default true. */
  hasTenant?: boolean;
  /** Scopes that depend on the body (interface 6.2 step 13). */
  scopesOf?(params: P): readonly string[];
  body?: BodyBounds;
  /**
   * Work that needs the network before a POST changes anything. It runs outside the transaction, and not for a replayed
   * answer. `db` is the pool. `handle` gets its result. Throws like `handle`.
   */
  check?(input: OperationInput<P>): Promise<C>;
  /**
   * False: the POST waits for the network and changes nothing, so it gets no transaction, which would occupy a connection.
   */
  transaction?: boolean;
  /** Throws a Fault when the answer to an earlier request with this Idempotency-Key may not be given again. */
  checkReplay?(input: Pick<OperationInput<P>, 'db' | typeof tenantMember>, answer: A): Promise<void>;
  /** True: request or answer hold a secret, so their receipt is sealed. */
  isSecret?(params: P): boolean;
  /** The answer may have thousands of elements inside its items, so it is checked and written with pauses. */
  hasLargeItems?: true;
  /**
   * Long work, which blocks other requests: the program may serve it in a process of its own. A POST waits until no other of the same
   * tenant runs.
   */
  longWork?: true;
  /**
   * Refusals of steps 15-17 are thrown as Fault by the route; the use case returns them as values. `checked`: the result of
   * `check`; undefined when it did not run.
   */
  handle(input: OperationInput<P>, checked?: C): Promise<OperationAnswer<A>>;
};

/** Infers parameter and answer types from the schemas. */
export const operation = <P, A, C>(definition: Operation<P, A, C>): Operation<P, A, C> => definition;

/** The tenant of a request, for features that do not know what a tenant is. */
export const tenantOf = ({ [tenantMember]: tenant }: { [tenantMember]: string }): string => tenant;
