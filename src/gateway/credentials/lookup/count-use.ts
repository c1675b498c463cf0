/**
 * Counts the use of credentials in memory and writes it in one statement every few seconds, so that "when was it used
 * last, and from where?" is at most half a minute behind and no request waits for it. What a killed process had not
 * written yet is lost; a stopped one writes it.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { addUses, deleteOldCalls } from './use-store.ts';

export type CredentialUse = {
  /** One accepted use. `address`: the peer of the connection, as the log and the upstream are told. */
  record(credentialId: string, address: string | undefined): void;
  service: Service;
};

type CredentialUseDeps = { db: Kysely<unknown>; clock: Clock; log: Logger; flushMs?: number | undefined };

type Counted = { calls: number; firstMs: number; lastMs: number; address: string };

const flushMsDefault = 15_000;
/** More different credentials between two writings are not counted. */
const entriesMax = 100_000;
const callsKeptMs = 15 * 60_000;

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
      giveBack(batch, counted);
      log.warn({ err: error }, 'the use of credentials could not be written; trying again');
      return;
    }
    await deleteOldCalls(deps.db, new Date(clock.now().getTime() - callsKeptMs));
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

/** What could not be written is added to what was counted since. */
const giveBack = (batch: ReadonlyMap<string, Counted>, counted: Map<string, Counted>): void => {
  for (const [id, before] of batch) {
    const since = counted.get(id);
    if (since !== undefined) {
      since.calls += before.calls;
      since.firstMs = Math.min(since.firstMs, before.firstMs);
    } else if (counted.size < entriesMax) counted.set(id, before);
  }
};
