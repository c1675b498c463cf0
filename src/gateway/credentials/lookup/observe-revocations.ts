/**
 * Measures how long revocations of secrets, keys, clients and "tokens issued before" took to reach this process (single
 * tokens: revoked-tokens.ts). After a new epoch is confirmed, it reads the last entries of the history, independently
 * of requests.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { listLastRevocations } from '../state/state-store.ts';

type ObserveRevocationsDeps = { db: Kysely<unknown>; clock: Clock; observeLag: (seconds: number) => void };

const changesMax = 500;

/** To be called when a new epoch is confirmed. The first call only remembers the earlier revocations. */
export const createObserveRevocations = ({ db, clock, observeLag }: ObserveRevocationsDeps) => {
  let seen: ReadonlySet<number> | undefined;
  let last: Promise<void> = Promise.resolve();

  const look = async (epoch: number, noticedMs: number): Promise<void> => {
    const found = await listLastRevocations(db, changesMax);
    // A newer epoch exists already; its own call measures these revocations.
    if (seen !== undefined && found.epoch !== epoch) return;
    for (const { id, atMs } of found.revocations) {
      if (seen?.has(id) === false) observeLag(Math.max(0, noticedMs - atMs) / 1000);
    }
    seen = new Set(found.revocations.map(({ id }) => id));
  };

  return (epoch: number): void => {
    const noticedMs = clock.now().getTime();
    last = last.then(() => look(epoch, noticedMs)).catch(() => undefined);
  };
};
