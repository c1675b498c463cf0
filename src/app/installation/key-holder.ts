/**
 * A running process needs no master key: it holds the root. It needs one to start again, so it keeps in the store which
 * keys it would find then, and a rotation removes no key that a running process still needs.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Kysely } from 'kysely';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { deleteHolder, hasTable, type KeyHolderRow, listHolders, writeHolder } from './key-holder-store.ts';
import { idsOf, type MasterKeys } from './master-keys.ts';

/** A stored row lags behind a changed file by this at most. */
const renewEveryMs = 3_000;
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

  const holderNow = (): KeyHolderRow => {
    try {
      const keys = idsOf(readKeys());
      refused = '';
      return { name, role, keys };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== refused)
        log.error({ reason }, 'the master key cannot be read: this process could not start again');
      refused = reason;
      return { name, role, keys: [] };
    }
  };

  const write = async (db: Kysely<unknown>): Promise<void> => {
    if (await hasTable(db, 'key_holders')) await writeHolder(db, process, holderNow());
  };

  return {
    register: write,
    service: (db) => ({
      name: 'key-holder',
      run: async (signal) => {
        while (!signal.aborted) {
          await write(db);
          await pause(renewEveryMs, signal);
        }
        if (await hasTable(db, 'key_holders')) await deleteHolder(db, process);
      },
    }),
  };
};

/** None where the schema has no list of them yet. */
export const listKeyHolders = async (db: Kysely<unknown>): Promise<KeyHolderRow[]> =>
  (await hasTable(db, 'key_holders')) ? listHolders(db, aliveSeconds) : [];
