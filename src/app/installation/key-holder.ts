/**
 * A running process needs no master key: it holds the root. It needs one to start again, so it keeps in the store which
 * keys it would find then, and a rotation removes no key that a running process still needs. It also compares them with those
 * that seal the root, so that an operator learns before the next start that this start would be refused.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Kysely } from 'kysely';
import { programVersion } from '#src/platform/files/release.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { deleteHolder, hasTable, type KeyHolderRow, listHolders, writeHolder } from './key-holder-store.ts';
import { idsOf, type MasterKeys } from './master-keys.ts';

/** A stored row lags behind a changed file by this at most. */
const readEveryMs = 3_000;
/** An unchanged row is written so often, since it counts for `aliveSeconds`. */
const renewEveryMs = 8_000;
/**
 * A process counts for so long after its last write. An outage of 20 s removes no process: a row is up to 11 s old when it
 * begins, and the next try follows within 3 s of its end, which leaves 6 s for slow connections.
 */
const aliveSeconds = 40;

export type KeyHolder = {
  /** `tx`: the transaction that opens the root, so that a rotation sees the process or the process sees the rotation. */
  register(tx: Kysely<unknown>): Promise<void>;
  /** Renews the row until its signal is aborted, and then deletes it. */
  service(db: Kysely<unknown>): Service;
};

type HolderDeps = {
  role: string;
  /** Reads the sources of the keys again; throws when a start would fail. */
  readKeys: () => MasterKeys;
  /** Called with each result: a start would open the root. */
  onCompared: (opens: boolean) => void;
  log: Logger;
};

export const createKeyHolder = ({ role, readKeys, onCompared, log }: HolderDeps): KeyHolder => {
  const process = randomUUID();
  const name = `${hostname()}:${globalThis.process.pid}`;
  let problem = '';
  let hasList = false;
  let written = '';
  let writtenMs = Number.NEGATIVE_INFINITY;
  let isCutOff = false;

  /** `reason` is missing when the keys could be read. */
  const keysNow = (): { keys: string[]; reason?: string } => {
    try {
      return { keys: idsOf(readKeys()) };
    } catch (error) {
      return { keys: [], reason: error instanceof Error ? error.message : String(error) };
    }
  };

  const report = (reason: string): void => {
    if (reason !== problem && reason !== '')
      log.error({ reason }, 'the master key cannot be used: this process could not start again');
    problem = reason;
    onCompared(reason === '');
  };

  const compare = (keys: readonly string[], sealedBy: readonly string[]): void => {
    const opens = keys.some((key) => sealedBy.includes(key));
    const given = keys.join(' and ');
    report(opens ? '' : `the store is sealed by the key ${sealedBy.join(' or ')}, and the given key is ${given}`);
  };

  /** Returns the ids of the keys that open the root. Undefined: the schema has no list of holders yet. */
  const write = async (db: Kysely<unknown>, keys: string[]): Promise<string[] | undefined> => {
    hasList ||= await hasTable(db, 'key_holders');
    return hasList ? writeHolder(db, process, { name, role, keys, version: programVersion }) : undefined;
  };

  const writeIfDue = async (db: Kysely<unknown>): Promise<void> => {
    const { keys, reason } = keysNow();
    if (reason !== undefined) report(reason);
    const nowMs = performance.now();
    if (keys.join() === written && nowMs - writtenMs < renewEveryMs) return;
    const sealedBy = await write(db, keys);
    if (reason === undefined) compare(keys, sealedBy ?? keys);
    written = keys.join();
    writtenMs = nowMs;
  };

  /** The pauses of the supervisor grow to 10 s, which is too long for a row that must not become too old. */
  const tryToWrite = async (db: Kysely<unknown>): Promise<void> => {
    try {
      await writeIfDue(db);
      isCutOff = false;
    } catch (error) {
      if (!isCutOff) log.warn({ err: error }, 'the keys of this process could not be written, and are tried again');
      isCutOff = true;
    }
  };

  return {
    register: async (tx) => void (await write(tx, keysNow().keys)),
    service: (db) => ({
      name: 'key-holder',
      run: async (signal) => {
        while (!signal.aborted) {
          await tryToWrite(db);
          await pause(readEveryMs, signal);
        }
        if (hasList) await deleteHolder(db, process);
      },
    }),
  };
};

/** None where the schema has no list of them yet. */
export const listKeyHolders = async (db: Kysely<unknown>): Promise<KeyHolderRow[]> =>
  (await hasTable(db, 'key_holders')) ? listHolders(db, aliveSeconds) : [];
