/** Sandboxes, as the command line uses them. Each refuses a real restaurant. */
import { type ClockMove, moveSandboxClock, type SandboxClock, showSandboxClock } from '#src/ordering/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { type Played, type PlayOptions, playScript } from '../sandbox/play-script.ts';
import { triggerEvent } from '../sandbox/trigger-event.ts';
import type { AdminDeps } from './admin-deps.ts';
import { createNote } from './admin-restaurants.ts';

export const createSandboxAdmin = (deps: AdminDeps) => {
  const { installation, settings } = deps;
  const { store, clock } = installation;
  const note = createNote(deps);
  return {
    showClock: (restuid: string): Promise<SandboxClock> => showSandboxClock(store.db, restuid, clock.now()),
    moveClock: (restuid: string, move: ClockMove): Promise<SandboxClock> =>
      inTransaction(store.db, async (tx) => {
        const moved = await moveSandboxClock(tx, restuid, move, clock.now());
        await note(tx, restuid, { operation: 'sandbox/clock', now: moved.now.toISOString() });
        return moved;
      }),
    play: async (options: PlayOptions): Promise<Played> => {
      const { restuid, seed, speed } = options;
      const played = await playScript(installation, settings, options);
      const details = { operation: 'sandbox/play', seed, speed, steps: played.steps.length };
      await inTransaction(store.db, (tx) => note(tx, restuid, details));
      return played;
    },
    trigger: async (asked: { restuid: string; event: string }): Promise<{ uid: string }> => {
      const made = await triggerEvent(installation, settings, asked);
      await inTransaction(store.db, (tx) =>
        note(tx, asked.restuid, { operation: 'sandbox/trigger', event: asked.event }),
      );
      return made;
    },
  };
};
