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
    /**
     * `name`: of the script, for the audit. It has a note from before the first step, which holds also when the process is killed or
     * the store is away at the end, and one with the number of steps.
     */
    play: ({ name, ...options }: Omit<PlayOptions, 'onBegin' | 'onEnd'> & { name: string }): Promise<Played> => {
      const { restuid, script, seed, speed } = options;
      const add = (details: object): Promise<void> =>
        inTransaction(store.db, (tx) => note(tx, restuid, { operation: 'sandbox/play', script: name, ...details }));
      return playScript(installation, settings, {
        ...options,
        onBegin: () => add({ seed, speed, begun: true }),
        onEnd: (steps) => add({ steps, of: script.steps.length }),
      });
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
