/**
 * What this process remembers of keys and clients, so that the hot path asks nobody. Everything remembered belongs to one
 * epoch. A background service reads the epoch about every 400 ms (a notification makes it read at once) and forgets
 * everything when it is another one: another number, another random value (a restored or failed-over store gives a number
 * a second time) or another server or database. It forgets everything, too, when its connection is a new one: what happened
 * to the store in between is not known. A record is kept only when it was read in the state that the epoch names. A request that comes while the last reading is older than `trustMs` waits for a new one first:
 * a process that may have missed a change never answers from memory. So a revoked credential is refused by every gateway
 * within a second, whatever happens to notifications, connections or this process's clock.
 */
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { faultOf } from '#src/platform/http/error-boundary.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createRecentMap, type RecentMap } from '../../../platform/recent-map.ts';
import { isApiKey, isClientId } from '../../model/credential-values.ts';
import { answerInTime, LateAnswer } from './answer-in-time.ts';
import { type Found as FoundRow, findApiKey, findClient } from './credential-store.ts';
import { type Epoch, readEpoch, stateOf } from './epoch-store.ts';
import { createEpochWatch } from './epoch-watch.ts';
import { createObserveRevocations } from './observe-revocations.ts';
import { type ClientRecord, type KeyRecord, toClientRecord, toKeyRecord } from './records.ts';
import { createRevokedTokens, type RevokedTokens } from './revoked-tokens.ts';

export type CredentialCache = {
  /** undefined: unknown or revoked. A promise only when the store must be asked; it rejects with OVERLOADED. */
  findKey(value: string): Found<KeyRecord>;
  findClient(clientId: string): Found<ClientRecord>;
  /** Counts only right after `findClient` has answered, which makes sure that this process has heard of everything. */
  isTokenRevoked(jti: string): boolean | Promise<boolean>;
  /** This process knows of every change that was committed before the call. Rejects when the store cannot be asked. */
  refresh(): Promise<void>;
  /** A token that was not revoked at this number needs no second look. */
  tokenVersion: RevokedTokens['version'];
  /** Keeps the cache confirmed; without it every request past `trustMs` asks the store itself. */
  service: Service;
};

export type Found<T> = T | undefined | Promise<T | undefined>;

type CredentialCacheDeps = {
  db: Kysely<unknown>;
  pool: Pool;
  box: Pick<SecretBox, 'digest'>;
  log: Logger;
  clock: Clock;
  /** See revoked-tokens.ts and observe-revocations.ts. */
  observeLag?: (seconds: number) => void;
  revokedTokensMax?: number;
  /** Keys, and clients, that are remembered at most. */
  entriesMax?: number;
  /** What else belongs to an epoch (signing keys). A failure leaves the new epoch unconfirmed. */
  onChange?: () => Promise<void>;
  /** Monotonic milliseconds. */
  elapsedMs?: () => number;
};

/** Below one second by what a request itself may take. */
const trustMs = 900;
/** For one question to the store. */
const storeWaitMsMax = 1_500;
const entriesMaxDefault = 20_000;
const readingsMax = 2;
const loadsMax = 256;

/** One kind of credential: what is remembered, what is being read, and how. */
type Shelf<T> = {
  known: RecentMap<string, T>;
  loading: Map<string, Promise<T | undefined>>;
  isWellFormed: (name: string) => boolean;
  read: (name: string) => Promise<FoundRow<T>>;
};

const createShelf = <T>(entriesMax: number, kind: Pick<Shelf<T>, 'isWellFormed' | 'read'>): Shelf<T> => ({
  known: createRecentMap<string, T>(entriesMax),
  loading: new Map(),
  ...kind,
});

/** Readings that run are not shared any more either: they may have begun before the change. */
const forget = <T>(shelf: Shelf<T>): void => {
  shelf.known.clear();
  shelf.loading = new Map();
};

export const createCredentialCache = (deps: CredentialCacheDeps): CredentialCache => {
  const { db, pool, box, log } = deps;
  const revoked = createRevokedTokens({
    db,
    clock: deps.clock,
    observeLag: deps.observeLag,
    entriesMax: deps.revokedTokensMax,
  });
  const { observeLag } = deps;
  const observe =
    observeLag === undefined ? undefined : createObserveRevocations({ db, clock: deps.clock, observeLag });
  const elapsedMs = deps.elapsedMs ?? (() => performance.now());
  const entriesMax = deps.entriesMax ?? entriesMaxDefault;
  const keys = createShelf(entriesMax, {
    isWellFormed: isApiKey,
    read: async (value) => {
      const { row, state } = await findApiKey(db, box.digest(value));
      return { row: toKeyRecord(row), state };
    },
  });
  const clients = createShelf(entriesMax, {
    isWellFormed: isClientId,
    read: async (clientId) => {
      const { row, state } = await findClient(db, clientId);
      return { row: toClientRecord(row), state };
    },
  });
  // Unknown ones are remembered apart: whoever sends invented values must not push out the real ones.
  const unknown = createRecentMap<string, true>(entriesMax);
  let known: string | undefined;
  let store: string | undefined;
  let generation = 0;
  let confirmedAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  /** `askedAtMs`: before the epoch was read, since all that is known is how things were then. `anew`: see the header. */
  const confirm = async (current: Epoch, askedAtMs: number, anew = false): Promise<void> => {
    if (!anew && askedAtMs <= confirmedAtMs) return;
    const state = stateOf(current);
    const storeMoved = store !== undefined && store !== current.store;
    await revoked.load(current.tokens, anew || storeMoved);
    if (anew || state !== known) {
      generation += 1;
      forget(keys);
      forget(clients);
      unknown.clear();
      await deps.onChange?.();
      known = state;
      store = current.store;
      observe?.(current.credentials.epoch);
    }
    confirmedAtMs = Math.max(confirmedAtMs, askedAtMs);
  };

  const readAndConfirm = async (): Promise<void> => {
    const askedAtMs = elapsedMs();
    await confirm(await readEpoch(db), askedAtMs);
  };

  const readNow = (): Promise<void> => {
    reading ??= answerInTime(readAndConfirm(), storeWaitMsMax).finally(() => {
      reading = undefined;
    });
    return reading;
  };

  /** Waits until nothing that is remembered can be older than `trustMs`. A shared reading may itself be too old by then. */
  const beSure = async (): Promise<void> => {
    for (let attempt = 0; attempt < readingsMax; attempt += 1) {
      await readNow();
      if (elapsedMs() - confirmedAtMs <= trustMs) return;
    }
    throw cannotCheck('the store answers too slowly');
  };

  const load = <T>(shelf: Shelf<T>, name: string): Promise<T | undefined> => {
    const running = shelf.loading.get(name);
    if (running !== undefined) return running;
    // Each invented credential of the right build costs a query; they must not fill the pool for everybody else.
    if (shelf.loading.size >= loadsMax) return Promise.reject(cannotCheck('too many look-ups at once'));
    const started = loadAndKeep(shelf, name);
    shelf.loading.set(name, started);
    return started;
  };

  const loadAndKeep = async <T>(shelf: Shelf<T>, name: string): Promise<T | undefined> => {
    const { loading } = shelf;
    const startedIn = generation;
    try {
      const { row: record, state } = await answerInTime(shelf.read(name), storeWaitMsMax);
      // Read before the change that started a new generation, or in another state of the store than the one whose end this
      // process would read, it could outlive that state in the cache.
      if (startedIn !== generation || state !== known) return record;
      if (record === undefined) unknown.set(name, true);
      else shelf.known.set(name, record);
      return record;
    } finally {
      loading.delete(name);
    }
  };

  const recall = <T>(shelf: Shelf<T>, name: string): Found<T> => {
    const found = shelf.known.get(name);
    if (found !== undefined) return found;
    return unknown.get(name) === undefined ? load(shelf, name) : undefined;
  };

  const find = <T>(shelf: Shelf<T>, name: string): Found<T> => {
    const known = shelf.known.get(name);
    // What is known was well-formed once; only other values pay for the look at their checksum.
    if (known === undefined && !shelf.isWellFormed(name)) return undefined;
    if (elapsedMs() - confirmedAtMs > trustMs) return orFault(beSure().then(() => recall(shelf, name)));
    if (known !== undefined) return known;
    const found = recall(shelf, name);
    return found instanceof Promise ? orFault(found) : found;
  };

  return {
    findKey: (value) => find(keys, value),
    findClient: (clientId) => find(clients, clientId),
    isTokenRevoked: (jti) => {
      const found = revoked.has(jti);
      return found instanceof Promise ? orFault(answerInTime(found, storeWaitMsMax)) : found;
    },
    refresh: () => answerInTime(readAndConfirm(), storeWaitMsMax),
    tokenVersion: revoked.version,
    service: createEpochWatch({ pool, log, elapsedMs, confirm }),
  };
};

/** A store that cannot be asked is a 503 that a retry may cure; anything else is a defect. */
const orFault = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof LateAnswer) throw cannotCheck(error);
    const fault = faultOf(error);
    throw fault.code === 'OVERLOADED' ? cannotCheck(error) : fault;
  }
};

const cannotCheck = (cause: unknown): Fault =>
  new Fault('OVERLOADED', 'Credentials cannot be checked right now; try again shortly', {
    headers: { 'retry-after': '2' },
    cause,
  });
