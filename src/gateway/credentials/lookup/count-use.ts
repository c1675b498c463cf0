/**
 * Counts the use of credentials in memory and writes the counts in one statement every 15 seconds. "Last used" and its
 * address are at most half a minute behind, and no request waits for the write. A process that is stopped writes its
 * counts; a process that is killed loses them.
 */
import type { Kysely } from 'kysely';
import { type Clock, minuteMs } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { addUses, deleteOldCalls } from './use-store.ts';

export type CredentialUse = {
  /** Counts one accepted use. `address`: peer of the connection, as in the log and in the header for the upstream. */
  record(credentialId: string, address: string | undefined): void;
  service: Service;
};

type CredentialUseDeps = { db: Kysely<unknown>; clock: Clock; log: Logger; flushMs?: number | undefined };

type Counted = { calls: number; firstMs: number; lastMs: number; address: string };

const flushMsDefault = 15_000;
/** Largest number of credentials that are counted between two writes. */
const entriesMax = 100_000;
const callsStoredMs = 15 * minuteMs;

export const createCredentialUse = (deps: CredentialUseDeps): CredentialUse => {
  const { clock, log } = deps;
  let counted = new Map<string, Counted>();

  const record = (credentialId: string, address = 'unknown'): void => {
    const entry = counted.get(credentialId);
    if (entry !== undefined) {
      entry.calls += 1;
      entry.lastMs = clock.now().getTime();
      entry.address = address;
    } else if (counted.size < entriesMax) {
      const nowMs = clock.now().getTime();
      counted.set(credentialId, { calls: 1, firstMs: nowMs, lastMs: nowMs, address });
    }
  };

  const flush = async (): Promise<void> => {
    if (counted.size === 0) return;
    const batch = counted;
    counted = new Map();
    try {
      await addUses(
        deps.db,
        [...batch].map(([credential, { calls, firstMs, lastMs, address }]) => ({
          credential,
          calls,
          firstUsed: new Date(firstMs),
          lastUsed: new Date(lastMs),
          address,
        })),
      );
    } catch (error) {
      mergeBack(batch, counted);
      log.warn({ err: error }, 'the use of credentials could not be written; trying again');
      return;
    }
    await deleteOldCalls(deps.db, new Date(clock.now().getTime() - callsStoredMs));
  };

  return {
    record,
    service: {
      name: 'credential-use',
      run: async (signal) => {
        while (!signal.aborted) {
          await pause(deps.flushMs ?? flushMsDefault, signal);
          await flush();
        }
      },
    },
  };
};

/** Adds counts that could not be written to the counts since then. */
const mergeBack = (batch: ReadonlyMap<string, Counted>, counted: Map<string, Counted>): void => {
  for (const [id, before] of batch) {
    const since = counted.get(id);
    if (since !== undefined) {
      since.calls += before.calls;
      since.firstMs = Math.min(since.firstMs, before.firstMs);
    } else if (counted.size < entriesMax) counted.set(id, before);
  }
};
