/**
 * Opens the installation for one command, and closes it even after a failure. The program behind it is loaded now: it takes longer
 * than help, or than the answer of a server elsewhere.
 */
import type { Command } from 'commander';
import type { Admin } from '#src/app/admin/admin.ts';
import { settingsAndLogOf } from './command-settings.ts';

export const withAdmin = async <T>(command: Command, run: (admin: Admin) => Promise<T>): Promise<T> => {
  const { openAdmin } = await import('#src/app/admin/admin.ts');
  const admin = await openAdmin(...(await settingsAndLogOf(command)));
  try {
    return await run(admin);
  } finally {
    await admin.close();
  }
};
