/** Opens the installation for one command, and closes it even after a failure. */
import type { Command } from 'commander';
import { type Admin, openAdmin } from '#src/app/admin/admin.ts';
import { loadProcessSettings } from '#src/app/settings/config.ts';
import { createLog } from '#src/platform/log.ts';

export const withAdmin = async <T>(command: Command, run: (admin: Admin) => Promise<T>): Promise<T> => {
  const settings = loadProcessSettings({ configFile: configFileOf(command) });
  const admin = await openAdmin(settings, createLog({ level: settings.log_level, role: 'command' }));
  try {
    return await run(admin);
  } finally {
    await admin.close();
  }
};

export const configFileOf = (command: Command): string | undefined =>
  command.optsWithGlobals<{ config?: string }>().config;
