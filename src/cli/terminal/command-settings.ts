/** The settings for one command. They are loaded when a command needs them, since help is shown without them. */
import type { Command } from 'commander';
import type { Settings } from '#src/app/settings/config.ts';
import { createLog, type Logger } from '#src/platform/log.ts';

export const configFileOf = (command: Command): string | undefined =>
  command.optsWithGlobals<{ config?: string }>().config;

export const settingsOf = async (command: Command): Promise<Settings> => {
  const { loadProcessSettings } = await import('#src/app/settings/config.ts');
  return loadProcessSettings({ configFile: configFileOf(command) });
};

/** Settings and log of a command that opens the installation. */
export const settingsAndLogOf = async (command: Command): Promise<[Settings, Logger]> => {
  const settings = await settingsOf(command);
  return [settings, createLog({ level: settings.log_level, role: 'command' })];
};
