/** Messages that are stored in the session until the next page shows them. */

import type { Flash } from '../page/answer.ts';
import type { StaffPorts } from '../ports/staff.ts';

export type Flashes = ReturnType<typeof createFlashes>;

export const createFlashes = ({ sessions }: Pick<StaffPorts, 'sessions'>) => ({
  keep: (sessionId: string, flash: Flash): Promise<void> => sessions.keepMessage(sessionId, JSON.stringify(flash)),
  take: async (sessionId: string): Promise<Flash | undefined> => {
    const text = await sessions.takeMessage(sessionId);
    return text === undefined ? undefined : (JSON.parse(text) as Flash);
  },
});
