/**
 * A running process needs no master key: it holds the root. It needs one to start again, so it keeps in the store which
 * keys it would find then, and a rotation removes no key that a running process still needs.
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
/** Longer than a database that is slow or fails over lets a process wait. */
const aliveSeconds = 20;

export type KeyHolder = {
  /** `tx`: the transaction that opens the root, so that a rotation sees the process or the process sees the rotation. */
  register(tx: Kysely<unknown>): Promise<void>;
  /** Renews the row until its signal is aborted, and then deletes it. */
  service(db: Kysely<unknown>): Service;
};

/** `readKeys`: reads the sources of the keys again; throws when a start would fail. */
export const createKeyHolder = (role: string, readKeys: () => MasterKeys, log: Logger): KeyHolder => {
  const process = randomUUID();
  const name = `${hostname()}:${globalThis.process.pid}`;
  let refused = '';
  let hasList = false;
  let written = '';
  let writtenMs = Number.NEGATIVE_INFINITY;

  const holderNow = (): KeyHolderRow => {
    try {
      const keys = idsOf(readKeys());
      refused = '';
      return { name, role, keys, version: programVersion };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== refused)
        log.error({ reason }, 'the master key cannot be read: this process could not start again');
      refused = reason;
      return { name, role, keys: [], version: programVersion };
    }
  };

  const write = async (db: Kysely<unknown>): Promise<void> => {
    hasList ||= await hasTable(db, 'key_holders');
    if (hasList) await writeHolder(db, process, holderNow());
  };

  const writeIfDue = async (db: Kysely<unknown>): Promise<void> => {
    const keys = holderNow().keys.join();
    const nowMs = performance.now();
    if (keys === written && nowMs - writtenMs < renewEveryMs) return;
    await write(db);
    written = keys;
    writtenMs = nowMs;
  };

  return {
    register: write,
    service: (db) => ({
      name: 'key-holder',
      run: async (signal) => {
        while (!signal.aborted) {
          await writeIfDue(db);
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
