/**
 * Remembers keys and clients in this process, so that the hot path does not ask the store. Everything remembered
 * belongs to one confirmed state of the store, its epoch (epoch-store.ts).
 *
 * - A background service reads the epoch about every 400 ms, with the changes since the confirmed state; a notification
 *   makes it read at once, and without requests it reads every 800 ms (epoch-watch.ts).
 * - The keys and clients that the changes name are forgotten, and are read again at their next use.
 * - Everything is forgotten when the changes do not lead without a gap from the confirmed state to the epoch
 *   (change-feed.ts): a number is missing, a random mark is another one (a restored or failed-over store repeats numbers),
 *   or another server or database answers.
 * - Everything is also forgotten when the connection is a new one, because the store may have changed in between.
 * - A record that was read before the confirmed state is not remembered; one that was read ahead of it only until the next
 *   confirmation, unless that passes the state of the record (remembered-records.ts).
 * - When the last reading is older than 900 ms, a request waits for a new reading first (confirm-epoch.ts).
 *
 * So every gateway refuses a revoked credential within a second, even when notifications, connections or the clock of
 * this process fail.
 */
import type { IncomingMessage } from 'node:http';
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import type { Logger } from '#src/platform/log.ts';
import { createRecentMap } from '#src/platform/recent-map.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createSourceOf, type SourceOf } from '../../limits/source-address.ts';
import { idOfValue, isApiKey, isClientId } from '../../model/credential-values.ts';
import { orFault } from './cannot-check.ts';
import { createEpochConfirmation, type Remembered, storeWaitMsMax } from './confirm-epoch.ts';
import { findApiKey, findClient } from './credential-store.ts';
import { type Beside, createEpochWatch } from './epoch-watch.ts';
import { createLookUpTurns } from './look-up-turns.ts';
import { createLookupCache, type Found, type LookupFigures } from './lookup-cache.ts';
import { type ClientRecord, type KeyRecord, toClientRecord, toKeyRecord } from './records.ts';
import { createRevokedTokens, type RevokedTokens } from './revoked-tokens.ts';

export type CredentialCache = {
  /**
   * undefined: unknown. A promise only when the store must be asked; it rejects with OVERLOADED. `req`: the request that names the
   * credential; undefined where a signature proves the name.
   */
  findKey(value: string, req?: IncomingMessage): Found<KeyRecord>;
  findClient(clientId: string, req?: IncomingMessage): Found<ClientRecord>;
  /** Valid only right after `findClient` has answered, because that confirms the current epoch. */
  isTokenRevoked(jti: string): boolean | Promise<boolean>;
  /** When a revoked token was reported as leaked; undefined: it was not, or that is not in memory. */
  tokenLeakedMs(jti: string): number | undefined;
  /** Applies every change that was committed before the call. Rejects when the store cannot be asked. */
  refresh(): Promise<void>;
  /** Changes with the set of revoked tokens. A token that was checked at this version needs no second check. */
  tokenVersion: RevokedTokens['version'];
  /** Of keys and clients together. */
  figures(): CacheFigures;
  /** Keeps the confirmation fresh. Without it, requests read the epoch themselves. */
  service: Service;
};

/** `clears`: how often everything was forgotten. */
export type CacheFigures = LookupFigures & { clears: number };

type CredentialCacheDeps = {
  db: Kysely<unknown>;
  pool: Pool;
  box: Pick<SecretBox, 'digest'>;
  log: Logger;
  clock: Clock;
  /** Called for each revocation with the seconds until it was applied here. */
  observeLag?: (seconds: number) => void;
  revokedTokensMax?: number;
  /** Largest number of remembered keys, and of remembered clients. */
  entriesMax?: number;
  /** Reloads what else belongs to an epoch (signing keys). A failure leaves the new epoch unconfirmed. */
  onAllChanged?: () => Promise<void>;
  /** Monotonic milliseconds. */
  elapsedMs?: () => number;
  beside?: Beside | undefined;
  /** Default: the address of the socket. */
  sourceOf?: SourceOf;
};

const entriesMaxDefault = 20_000;

export const createCredentialCache = (deps: CredentialCacheDeps): CredentialCache => {
  const { db, pool, box, log, clock, observeLag } = deps;
  const elapsedMs = deps.elapsedMs ?? (() => performance.now());
  const entriesMax = deps.entriesMax ?? entriesMaxDefault;
  const revoked = createRevokedTokens({ db, clock, observeLag, entriesMax: deps.revokedTokensMax });
  const parts = (): readonly Remembered[] => [keys, clients];
  const confirmation = createEpochConfirmation({
    db,
    elapsedMs,
    loadTokens: revoked.load,
    remembered: {
      forget: (ids) => {
        for (const part of parts()) part.forget(ids);
      },
      forgetAll: () => {
        for (const part of parts()) part.forgetAll();
      },
      settle: (wasPassed) => {
        for (const part of parts()) part.settle(wasPassed);
      },
    },
    onAllChanged: deps.onAllChanged,
    observe:
      observeLag === undefined
        ? undefined
        : (revokedAtMs) => observeLag(Math.max(0, clock.now().getTime() - revokedAtMs) / 1000),
  });
  const unknown = createRecentMap<string, string>(entriesMax);
  const shared = { unknown, confirmation, inTurn: createLookUpTurns(), sourceOf: deps.sourceOf ?? createSourceOf(0) };
  const keys = createLookupCache<KeyRecord>({
    ...shared,
    entriesMax,
    isWellFormed: isApiKey,
    idOfName: idOfValue,
    idOf: ({ keyId }) => keyId,
    read: async (value) => {
      const { row, state } = await findApiKey(db, box.digest(value));
      return { row: toKeyRecord(row), state };
    },
  });
  const clients = createLookupCache<ClientRecord>({
    ...shared,
    entriesMax,
    isWellFormed: isClientId,
    idOfName: (clientId) => clientId,
    idOf: ({ clientId }) => clientId,
    read: async (clientId) => {
      const { row, state } = await findClient(db, clientId);
      return { row: toClientRecord(row), state };
    },
  });
  return {
    findKey: keys.find,
    findClient: clients.find,
    isTokenRevoked: (jti) => {
      const found = revoked.has(jti);
      return found instanceof Promise ? orFault(answerInTime(found, storeWaitMsMax)) : found;
    },
    tokenLeakedMs: revoked.leakedMs,
    refresh: confirmation.refresh,
    tokenVersion: revoked.version,
    figures: () => {
      const [key, client] = [keys.figures(), clients.figures()];
      return {
        entries: key.entries + client.entries,
        hits: key.hits + client.hits,
        misses: key.misses + client.misses,
        clears: confirmation.generation(),
      };
    },
    service: createEpochWatch({ pool, log, elapsedMs, confirmation, beside: deps.beside }),
  };
};
