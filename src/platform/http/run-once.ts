/**
 * One effect per Idempotency-Key (interface 8). The receipt is written in the transaction of the change, so the answer and
 * the change commit together or not at all.
 */
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { tenantMember } from '#src/contract/event.ts';
import { envelopeOf, Fault } from '#src/contract/fault.ts';
import { tenantHeader } from '#src/contract/headers.ts';
import { hourMs } from '../clock.ts';
import {
  deleteReceipt,
  findReceipt,
  findReceiptRequest,
  type Receipt,
  type ReceiptRequest,
  saveReceipt,
  tryLockKey,
} from '../db/receipts.ts';
import { inTransaction, withCommit } from '../db/transaction.ts';
import { differenceOf, type IdentifiableRequest, identifyRequest, type RequestIdentity } from './identify-request.ts';
import { pointerOf } from './validate.ts';

export type WireAnswer = { status: number; body: string; headers: Record<string, string> };

type RequestWithKey = IdentifiableRequest & {
  /** The key or client that owns the Idempotency-Key. */
  owner: string;
  key: string;
  /** The tenant that it is for, which it need not name. Empty: it is for none. */
  tenant: string;
  requestId: string;
  /** For requests and answers that hold a secret. */
  sealing?: Sealing | undefined;
  /** Throws a Fault when this answer, which was a success, may not be given again. */
  checkReplay?: ((tx: Kysely<unknown>, body: string) => Promise<void>) | undefined;
};

export type IdempotentRequest = RequestWithKey & {
  /** Computed when it is first needed, and once, even when the transaction is retried. */
  identity(): Promise<RequestIdentity>;
};

export const idempotentRequest = (request: RequestWithKey): IdempotentRequest => {
  let identity: Promise<RequestIdentity> | undefined;
  return {
    ...request,
    identity: () => {
      identity ??= identifyRequest(request);
      return identity;
    },
  };
};

/** Each part is sealed under its own label, so one part cannot replace another. */
export type SealedPart = 'answer' | 'request' | 'body';
export type Sealing = { seal(text: string, part: SealedPart): string; open(sealed: string, part: SealedPart): string };

/** Longer than any request may take. The key of a request whose process died is free after it. */
const runningMs = 60_000;
/** Status of a receipt whose request is still running. */
const running = 0;
const keptMs = 48 * hourMs;

/** Undefined without the header. Throws VALIDATION_ERROR for a malformed or empty key, since its sender relies on it. */
export const readIdempotencyKey = (value: string | readonly string[] | undefined): string | undefined => {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value)) return value;
  throw new Fault('VALIDATION_ERROR', '1 value is not valid', {
    errors: [{ pointer: 'Idempotency-Key', code: 'FORMAT', message: 'must be 1 to 255 visible ASCII characters' }],
  });
};

/**
 * Runs `handle` inside `tx` at most once per key. A refusal by the addressed entity, its state or the domain is recorded
 * too, after its changes are rolled back. Other faults leave the key free.
 */
export const runOnce = async (
  tx: Kysely<unknown>,
  request: IdempotentRequest,
  now: Date,
  handle: () => Promise<WireAnswer>,
): Promise<WireAnswer> => {
  const earlier = await findEarlier(tx, request, now);
  if (earlier !== undefined) return earlier;
  return keep(tx, request, now, await handleOrRecordRefusal(tx, request.requestId, handle));
};

/**
 * The same for a handler that waits for the network and changes nothing here: no transaction is open while it runs. A
 * receipt with the status "running" holds its key. When the process dies, the key is free again after a minute.
 */
export const runOnceOutside = async (
  db: Kysely<unknown>,
  request: IdempotentRequest,
  now: Date,
  handle: () => Promise<WireAnswer>,
): Promise<WireAnswer> => {
  const earlier = await inTransaction(db, async (tx) => {
    const found = await findEarlier(tx, request, now);
    if (found === undefined) {
      const expires = new Date(now.getTime() + runningMs);
      await saveReceipt(tx, request.owner, request.key, {
        ...(await asKept(request)),
        status: running,
        body: '',
        headers: tenantOf(request),
        expires,
      });
    }
    return found;
  });
  if (earlier !== undefined) return earlier;
  let answer: WireAnswer;
  try {
    answer = await handle();
  } catch (error) {
    if (!(error instanceof Fault) || !isKept(error)) {
      await deleteReceipt(db, request.owner, request.key);
      throw error;
    }
    answer = refusalOf(error, request.requestId);
  }
  return keep(db, request, now, answer);
};

/** True when an answer can be replayed. Read without a lock: it only avoids useless work. */
export const hasReceipt = async (
  db: Kysely<unknown>,
  { owner, key }: Pick<IdempotentRequest, 'owner' | 'key'>,
  now: Date,
): Promise<boolean> => (await findReceipt(db, owner, key, now)) !== undefined;

/** The earlier answer to this request; otherwise this transaction holds the key. Throws CONFLICT, IDEMPOTENCY_KEY_REUSED. */
const findEarlier = async (
  tx: Kysely<unknown>,
  request: IdempotentRequest,
  now: Date,
): Promise<WireAnswer | undefined> => {
  // Pipelined: the receipt is read after the lock was taken.
  const [isHeld, earlier] = await Promise.all([
    tryLockKey(tx, request.owner, request.key),
    findReceipt(tx, request.owner, request.key, now),
  ]);
  if (!isHeld) throw stillRunning();
  if (earlier === undefined) return undefined;
  if (!earlier.requestHash.equals((await request.identity()).hash)) throw await reused(tx, request);
  const { [tenantHeader]: tenant = request.tenant } = earlier.headers;
  if (tenant !== request.tenant) throw reusedAt(tenantMember);
  if (earlier.status === running) throw stillRunning();
  const answer = replay(earlier, request.sealing);
  if (answer.status === 200) await request.checkReplay?.(tx, answer.body);
  return answer;
};

/** Kept with the answer. Receipts of releases before this one have none. */
const tenantOf = ({ tenant }: RequestWithKey): Record<string, string> =>
  tenant === '' ? {} : { [tenantHeader]: tenant };

export const stillRunning = (): Fault =>
  new Fault('CONFLICT', 'A request with this Idempotency-Key is still running', { headers: { 'retry-after': '1' } });

const asKept = async (request: IdempotentRequest): Promise<Pick<Receipt, 'requestHash'> & ReceiptRequest> => {
  const { hash, kept } = await request.identity();
  const { sealing } = request;
  if (sealing === undefined) return { requestHash: hash, request: kept.text, requestBody: kept.packedBody };
  const body = kept.packedBody === null ? null : sealing.seal(kept.packedBody.toString('base64'), 'body');
  return {
    requestHash: hash,
    request: sealing.seal(kept.text, 'request'),
    requestBody: body === null ? null : Buffer.from(body),
  };
};

/** The stored form that `asKept` made; undefined when there is none, or when another operation sealed it. */
const opened = (
  { request, requestBody }: ReceiptRequest,
  sealing: Sealing | undefined,
): { text: string; packedBody: Buffer | null } | undefined => {
  if (request === null) return undefined;
  // A sealed text is base64.
  if (request.startsWith('{')) return { text: request, packedBody: requestBody };
  return (
    sealing && {
      text: sealing.open(request, 'request'),
      packedBody: requestBody && Buffer.from(sealing.open(requestBody.toString(), 'body'), 'base64'),
    }
  );
};

const keep = async (
  db: Kysely<unknown>,
  request: IdempotentRequest,
  now: Date,
  answer: WireAnswer,
): Promise<WireAnswer> => {
  const expires = new Date(now.getTime() + keptMs);
  const headers = { ...answer.headers, ...tenantOf(request), 'idempotency-expires': expires.toUTCString() };
  const body = request.sealing?.seal(answer.body, 'answer') ?? answer.body;
  const receipt = { ...(await asKept(request)), status: answer.status, body, headers, expires };
  await withCommit(db, saveReceipt(db, request.owner, request.key, receipt));
  return { ...answer, headers };
};

const replay = (receipt: Receipt, sealing: Sealing | undefined): WireAnswer => ({
  status: receipt.status,
  // A receipt that an earlier version did not seal is JSON; a sealed one is base64.
  body: receipt.body.startsWith('{') ? receipt.body : (sealing?.open(receipt.body, 'answer') ?? receipt.body),
  headers: { ...receipt.headers, 'idempotent-replayed': 'true' },
});

const handleOrRecordRefusal = async (
  tx: Kysely<unknown>,
  requestId: string,
  handle: () => Promise<WireAnswer>,
): Promise<WireAnswer> => {
  await sql`savepoint before_change`.execute(tx);
  try {
    return await handle();
  } catch (error) {
    if (!(error instanceof Fault) || !isKept(error)) throw error;
    await sql`rollback to savepoint before_change`.execute(tx);
    return refusalOf(error, requestId);
  }
};

const refusalOf = (fault: Fault, requestId: string): WireAnswer => ({
  status: fault.status,
  body: JSON.stringify(envelopeOf(fault, requestId)),
  headers: { ...fault.headers },
});

/** Steps 15-17 of interface 6.2; a parameter fault found late still leaves the key free. */
const isKept = (fault: Fault): boolean =>
  fault.code === 'INVALID_TOKEN' || fault.status === 404 || fault.status === 409 || fault.status === 422;

const reused = async (tx: Kysely<unknown>, request: IdempotentRequest): Promise<Fault> => {
  const earlier = await findReceiptRequest(tx, request.owner, request.key);
  const kept = earlier && opened(earlier, request.sealing);
  const path = kept === undefined ? [] : await differenceOf(kept, request);
  // path[0] names the part of the request that differs; the pointer names the place inside it.
  const pointer = path[0] === 'path' || path.length < 2 ? '' : pointerOf(path.slice(1));
  return path[0] === 'path' ? reusedAt(pointer, 'the key was used with another operation') : reusedAt(pointer);
};

const reusedAt = (pointer: string, message = 'differs from the first request with this key'): Fault =>
  new Fault('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used with another request', {
    errors: [{ pointer, code: 'IDEMPOTENCY_KEY_REUSED', message }],
  });
