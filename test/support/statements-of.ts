import pg from 'pg';
import { vi } from 'vitest';

export type Statement = { text: string; values: unknown[] };

/** What goes to the database while `act` runs. Watches the driver and changes nothing of it. */
export const statementsOf = async (act: () => Promise<unknown>): Promise<Statement[]> => {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  try {
    await act();
    return query.mock.calls.map(([asked, values]: unknown[]) =>
      typeof asked === 'string'
        ? { text: asked, values: (values ?? []) as unknown[] }
        : { text: (asked as Statement).text, values: (asked as Statement).values ?? [] },
    );
  } finally {
    query.mockRestore();
  }
};
