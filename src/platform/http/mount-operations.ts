/**
 * Turns operations into routes of the internal listener. The order of the steps is policy (interface 6.2, steps 9-17):
 * size and syntax, tenant, parameters, scopes that depend on them, idempotency, then the operation in one transaction.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as rest } from 'node:timers/promises';
import type { Context } from 'koa';
import Router from 'koa-router';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { AssertedCaller, VerifyAssertion } from '#src/contract/assertion.ts';
import { tenantMember } from '#src/contract/event.ts';
import { Fault, internalFault, validationFault } from '#src/contract/fault.ts';
import { assertionHeader, dialectHeader, tenantHeader } from '#src/contract/headers.ts';
import type { Clock } from '../clock.ts';
import { inTransaction } from '../db/transaction.ts';
import { createPace, type Pace } from '../pace.ts';
import type { SecretBox } from '../secret-box.ts';
import { createSharedSemaphore, createTurns } from '../sharing/semaphore.ts';
import { type TraceSpan, traced } from '../telemetry/traces.ts';
import { textSlices } from '../text-slices.ts';
import type { Operation, OperationAnswer, OperationInput } from './operation.ts';
import { type BodyBounds, mayBeLarge, readJsonObject } from './read-body.ts';
import { resolveTenant } from './resolve-tenant.ts';
import {
  hasReceipt,
  type IdempotentRequest,
  idempotentRequest,
  readIdempotencyKey,
  runOnce,
  runOnceOutside,
  type SealedPart,
  type Sealing,
  stillRunning,
  type WireAnswer,
} from './run-once.ts';
import { mergeParameters, parseParameters, readQuery } from './validate.ts';

export type OperationDeps = {
  db: Kysely<unknown>;
  verifyAssertion: VerifyAssertion;
  clock: Clock;
  /** Seals the receipts of operations with secrets. */
  box?: Pick<SecretBox, 'seal' | 'open'>;
  /** Serves operations with `longWork`; without it this process serves them. */
  serveLongWork?: (ctx: Context, caller: AssertedCaller) => Promise<void>;
  /** Turns of callers for a connection of `db`, for requests without long work. Default: each takes one at once. */
  connections?: Pick<ReturnType<typeof createSharedSemaphore>, 'acquire'>;
};

const defaultBounds: BodyBounds = { bytesMax: 1024 * 1024, timeoutMs: 30_000 };

/**
 * Of long work: one of each tenant, since it waits for the locks of its tenant anyway. Three are half of the connections of the process
 * that does it (connectionsMax of app/import-process/serve-core.ts): the others are for reports of progress and for short requests. The
 * wait is shorter than the gateway waits for an answer, so the caller learns that nothing was done.
 */
const turnBounds = {
  ofEach: { atOnceMax: 1, waitingMax: 32 },
  ofAll: { atOnceMax: 3, waitingMax: 64 },
  waitMsMax: 20_000,
};

/**
 * Of long work with a large body, from its parse to its end. The process that forwards bodies (app/import-process/large-bodies.ts) lets
 * as many through, but it learns nothing of those whose callers have left. They take their memory until they end: work that has begun
 * goes on without its caller. With the wait for a turn, this one is shorter than the gateway waits.
 */
const largeBounds = { atOnceMax: 2, waitingMax: 32, waitMsMax: 8_000 };

/** Routes for `operations` under `prefix`, to be mounted inside the error boundary. */
export const mountOperations = (operations: readonly Operation[], prefix: string, deps: OperationDeps): Router => {
  const router = new Router({ prefix, strict: true, sensitive: true });
  const inTurn = createInTurn();
  const slots = createSharedSemaphore(largeBounds);
  const { serveLongWork, verifyAssertion } = deps;
  const withConnection = createWithConnection(deps.connections);
  for (const operation of operations) {
    const handler =
      operation.longWork === true && serveLongWork !== undefined
        ? async (ctx: Context): Promise<void> => serveLongWork(ctx, callerOf(ctx.req, verifyAssertion))
        : (ctx: Context): Promise<void> =>
            serveWithSlot(operation, prefix, { ...deps, inTurn, withConnection, slots }, ctx);
    if (operation.method === 'GET') router.get(operation.path, handler);
    else router.post(operation.path, handler);
  }
  return router;
};

/** The request of a tenant and its caller; with an Idempotency-Key what identifies it. */
type Turning = { tenant: string; caller: string; signal: AbortSignal; request?: IdempotentRequest };
type InTurn = <T>(turning: Turning, work: () => Promise<T>) => Promise<T>;

/**
 * Long work that changes something runs one at a time for each tenant, and waits without a connection. In its transaction it
 * would wait for the locks of the tenant, and a few such requests would hold every connection that the long work of other
 * tenants needs. A caller with many tenants would still hold all of them, so callers share what runs at a time.
 */
const createInTurn = (): InTurn => {
  const turns = createTurns(turnBounds);
  const keys = new Set<string>();
  return async ({ tenant, caller, signal, request }, work) => {
    const key = request === undefined ? undefined : `${request.owner} ${request.key}`;
    // A request that runs in another process holds its key in the database.
    if (key !== undefined && keys.has(key)) throw stillRunning();
    if (key !== undefined) keys.add(key);
    try {
      const release = await turns.acquire({ each: tenant, sharer: caller }, signal);
      if (release === undefined) throw signal.aborted ? hasLeft() : tooManyWait();
      return await work().finally(release);
    } finally {
      if (key !== undefined) keys.delete(key);
    }
  };
};

type WithConnection = <T>(of: { caller: string; signal: AbortSignal }, work: () => Promise<T>) => Promise<T>;

/**
 * A request may wait for a lock in its transaction, for as long as a statement may take. Such requests of one caller would hold every
 * connection that those of others need, so they wait for each other without one.
 */
const createWithConnection = (connections: OperationDeps['connections']): WithConnection => {
  if (connections === undefined) return (_of, work) => work();
  return async ({ caller, signal }, work) => {
    const release = await connections.acquire(caller, signal);
    if (release === undefined) throw signal.aborted ? hasLeft() : tooManyWait();
    return work().finally(release);
  };
};

const tooManyWait = (): Fault =>
  new Fault('OVERLOADED', 'Earlier requests of this kind are still running; try again shortly', {
    headers: { 'retry-after': '2' },
  });

/** It reaches no caller, and the log has no error of it. */
const hasLeft = (): Fault => new Fault('REQUEST_TIMEOUT', 'The connection closed before the work began');

type SlotDeps = OperationDeps & {
  inTurn: InTurn;
  withConnection: WithConnection;
  slots: ReturnType<typeof createSharedSemaphore>;
};

/** Long work with a large body holds one of the slots for such work. */
const serveWithSlot = async (operation: Operation, prefix: string, deps: SlotDeps, ctx: Context): Promise<void> => {
  if (operation.longWork !== true) return serve(operation, prefix, deps, ctx);
  let leave: (() => void) | undefined;
  const beforeLarge = async (caller: string): Promise<void> => {
    const signal = ctx.state.signal as AbortSignal;
    leave = await deps.slots.acquire(caller, signal);
    if (leave === undefined) throw signal.aborted ? hasLeft() : tooManyWait();
  };
  try {
    await serve(operation, prefix, { ...deps, beforeLarge }, ctx);
  } finally {
    leave?.();
  }
};

type ServeDeps = Omit<SlotDeps, 'slots'> & { beforeLarge?: (caller: string) => Promise<void> };

const serve = async (operation: Operation, prefix: string, deps: ServeDeps, ctx: Context): Promise<void> => {
  const caller = callerOf(ctx.req, deps.verifyAssertion);
  const query = readQuery(ctx.querystring);
  const body =
    operation.method === 'POST' ? await bodyOf(operation, ctx.req, () => deps.beforeLarge?.(caller.id)) : undefined;
  if (body !== undefined && Object.hasOwn(body, 'access_token')) throw tokenInBody(ctx);
  const shape = operation.params.shape;
  const merged = mergeParameters(shape, query.values, body);
  const tenant = operation.hasTenant === false ? '' : resolveTenant(caller, namedTenantOf(merged));
  // With one tenant the gateway knows it.
  if (tenant !== '' && caller.tenants.length > 1) ctx.set(tenantHeader, tenant);
  const params = parseParameters(operation.params, merged.values, [...query.errors, ...merged.errors]);
  requireScopes(caller, operation.scopesOf?.(params) ?? []);
  const signal = ctx.state.signal as AbortSignal;

  const input = (db: Kysely<unknown>): OperationInput<unknown> => ({
    params,
    caller,
    [tenantMember]: tenant,
    requestId: String(ctx.state.requestId),
    now: deps.clock.now(),
    readNow: () => deps.clock.now(),
    db,
    signal,
  });
  // A retried transaction shows as a second span.
  const handle = (db: Kysely<unknown>, checked?: unknown): Promise<OperationAnswer<unknown>> =>
    traced(ctx.state.span as TraceSpan | undefined, `operation ${operation.path}`, () =>
      operation.handle(input(db), checked),
    );
  const run = async (db: Kysely<unknown>, checked?: unknown): Promise<WireAnswer> =>
    write(operation, await handle(db, checked));
  const connected = <T>(work: () => Promise<T>): Promise<T> => deps.withConnection({ caller: caller.id, signal }, work);
  if (operation.method === 'GET') {
    const answer = await connected(() => handle(deps.db));
    return send(ctx, await write(operation, answer));
  }
  const check = async (): Promise<unknown> => operation.check?.(input(deps.db));
  const key = readIdempotencyKey(ctx.req.headers['idempotency-key']);
  if (key === undefined) {
    const checked = await check();
    if (operation.transaction === false) return send(ctx, await run(deps.db, checked));
    const work = () => inTransaction(deps.db, (tx) => run(tx, checked));
    return send(
      ctx,
      await (operation.longWork === true ? deps.inTurn({ tenant, caller: caller.id, signal }, work) : connected(work)),
    );
  }
  const request = idempotentRequest({
    owner: caller.id,
    key,
    tenant,
    path: `${prefix}${operation.path}`,
    query: query.values,
    body,
    isLarge: mayBeLarge(ctx.req),
    requestId: String(ctx.state.requestId),
    sealing: operation.isSecret?.(params) === true ? sealingOf(deps, caller.id, key) : undefined,
    checkReplay:
      operation.checkReplay &&
      (async (db, text) => operation.checkReplay?.({ db, [tenantMember]: tenant }, JSON.parse(text))),
  });
  const mayWait = operation.check !== undefined || operation.longWork === true;
  const isNew = mayWait && !(await connected(() => hasReceipt(deps.db, request, deps.clock.now())));
  const checked = isNew ? await check() : undefined;
  if (operation.transaction === false)
    return send(ctx, await runOnceOutside(deps.db, request, deps.clock.now(), () => run(deps.db, checked)));
  const work = (): Promise<WireAnswer> =>
    inTransaction(deps.db, (tx) => runOnce(tx, request, deps.clock.now(), () => run(tx, checked)));
  const turning = { tenant, caller: caller.id, signal, request };
  send(ctx, await (isNew && operation.longWork === true ? deps.inTurn(turning, work) : connected(work)));
};

/** `answer` as it is sent. */
const write = async (operation: Operation, answer: OperationAnswer<unknown>): Promise<WireAnswer> => {
  const text = 'json' in answer ? answer.json : await render(operation, answer.body);
  return { status: 200, body: text, headers: { ...answer.headers } };
};

const bodyOf = (
  { body: bounds = defaultBounds }: Operation,
  request: IncomingMessage,
  beforeLarge: () => Promise<void> | undefined,
): Promise<Record<string, unknown> | undefined> => readJsonObject(request, bounds, async () => beforeLarge());

const sealingOf = ({ box }: OperationDeps, owner: string, key: string): Sealing => {
  if (box === undefined) throw internalFault(new Error('an operation with secrets needs a box for its receipts'));
  const labelOf = (part: SealedPart): string => `receipt${part === 'answer' ? '' : `-${part}`}/${owner}/${key}`;
  return {
    seal: (text, part) => box.seal(text, labelOf(part)).toString('base64'),
    open: (sealed, part) => box.open(Buffer.from(sealed, 'base64'), labelOf(part)),
  };
};

/** The schema filters the answer, so a column that is added to a row never leaks into an answer. */
const render = async ({ path, answer, hasLargeItems }: Operation, body: unknown): Promise<string> => {
  const parse: Parse = (schema, value) => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw internalFault(new Error(`answer of ${path} breaks its schema: ${parsed.error.message}`));
  };
  if (hasLargeItems !== true) return JSON.stringify({ success: true, ...(parse(answer, body) as object) });
  const parts: string[] = [];
  await writeParts(answer, body, { parse, pace: createPace(), parts });
  return `{"success":true,${parts.join('').slice(1)}`;
};

type Parse = (schema: z.ZodType, value: unknown) => unknown;

/** Each element of an array of objects is checked and written by itself, with pauses in between. */
const writeParts = async (
  schema: z.ZodType,
  value: unknown,
  writing: { parse: Parse; pace: Pace; parts: string[] },
): Promise<void> => {
  const { parse, pace, parts } = writing;
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    for (const [i, element] of value.entries()) {
      parts.push(i === 0 ? '[' : ',');
      await writeParts(schema.element as z.ZodType, element, writing);
      const pause = pace();
      if (pause !== undefined) await pause;
    }
    parts.push(value.length === 0 ? '[]' : ']');
  } else if (schema instanceof z.ZodObject && hasDeepMembers(schema) && isRecord(value)) {
    const flat = parse(flatPartOf(schema), value) as Record<string, unknown>;
    let before = '{';
    for (const [name, member] of Object.entries(schema.shape as Shape)) {
      if (!isDeep(member) && flat[name] === undefined) continue;
      parts.push(`${before}${JSON.stringify(name)}:`);
      before = ',';
      if (isDeep(member)) await writeParts(member, value[name], writing);
      else parts.push(JSON.stringify(flat[name]));
    }
    parts.push('}');
  } else parts.push(JSON.stringify(parse(schema, value)));
};

type Shape = Readonly<Record<string, z.ZodType>>;

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Arrays of objects, and objects that have such arrays. */
const isDeep = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodArray
    ? schema.element instanceof z.ZodObject
    : schema instanceof z.ZodObject && hasDeepMembers(schema);

const hasDeepMembers = (schema: z.ZodObject): boolean => flatPartOf(schema) !== schema;

const flatParts = new WeakMap<z.ZodObject, z.ZodObject>();

/** The schema without its deep members; the schema itself when it has none. */
const flatPartOf = (schema: z.ZodObject): z.ZodObject => {
  const known = flatParts.get(schema);
  if (known !== undefined) return known;
  const members = Object.entries(schema.shape as Shape);
  const flat = members.filter(([, member]) => !isDeep(member));
  const part = flat.length === members.length ? schema : z.object(Object.fromEntries(flat));
  flatParts.set(schema, part);
  return part;
};

const send = (ctx: Context, answer: WireAnswer): void => {
  ctx.status = answer.status;
  ctx.set('content-type', 'application/json; charset=utf-8');
  for (const [name, value] of Object.entries(answer.headers)) ctx.set(name, value);
  ctx.body = answer.body.length > largeCharacters ? inSlices(ctx, answer.body) : answer.body;
};

/** To encode and write more in one step would block other requests for milliseconds. */
const largeCharacters = 256 * 1024;

/** A pause after each slice: sending it copies it several times on this thread, and other requests run in between. */
const restMs = 1;

const inSlices = (ctx: Context, text: string): Readable => {
  ctx.set('content-length', String(Buffer.byteLength(text)));
  return Readable.from(slicesOf(text), { objectMode: false });
};

async function* slicesOf(text: string): AsyncGenerator<Buffer> {
  for (const slice of textSlices(text, largeCharacters / 4)) {
    yield Buffer.from(slice);
    await rest(restMs);
  }
}

const callerOf = (request: IncomingMessage, verify: VerifyAssertion): AssertedCaller => {
  const value = request.headers[assertionHeader];
  const caller = verify(typeof value === 'string' ? value : undefined, {
    method: request.method ?? '',
    target: request.url ?? '',
  });
  if (caller !== undefined) return caller;
  throw new Fault('INVALID_AUTH', 'This service answers the gateway only', {
    internalText: 'identity assertion missing or not valid',
  });
};

const namedTenantOf = (merged: {
  values: Record<string, unknown>;
  errors: readonly { pointer: string }[];
}): unknown => {
  const conflict = merged.errors.find((error) => error.pointer === tenantMember);
  if (conflict !== undefined)
    throw validationFault([
      { pointer: tenantMember, code: 'CONFLICTING_VALUES', message: 'differs between query and body' },
    ]);
  return merged.values[tenantMember];
};

/** RFC 6750 section 2 allows one way to send a token here: the Authorization header. */
const tokenInBody = (ctx: Context): Fault => {
  ctx.set(dialectHeader, 'oauth');
  return new Fault('VALIDATION_ERROR', 'Send the access token in the Authorization header, not in the body', {
    errors: [
      { pointer: 'access_token', code: 'AMBIGUOUS_CREDENTIALS', message: 'must be sent in the Authorization header' },
    ],
  });
};

const requireScopes = (caller: AssertedCaller, needed: readonly string[]): void => {
  const missing = needed.filter((scope) => !caller.scopes.includes(scope));
  if (missing.length === 0) return;
  throw new Fault('INSUFFICIENT_SCOPE', `This operation needs the scope ${missing.join(' ')}`, {
    extra: { missing_scopes: missing },
  });
};
