/** Where settings are read from. The only file that reads `process.env`. */
import type { SettingProblem } from './settings-error.ts';

export type JoinedSettings = {
  /** Before validation. */
  raw: Record<string, unknown>;
  /** Of files with secrets. */
  problems: readonly SettingProblem[];
};

export type SettingsSource = {
  env: Readonly<Record<string, string | undefined>>;
  configFile?: string | undefined;
  /** Settings that were read before: neither `configFile` nor a variable is read for them again. */
  joined?: JoinedSettings;
};

/** The environment of this process, and an optional file. */
export const processSettingsSource = (configFile?: string): SettingsSource => ({ env: process.env, configFile });

/**
 * The socket on which systemd waits for the message that the start has finished (`NOTIFY_SOCKET` of sd_notify(3)); undefined
 * where it does not wait. Takes it out of the environment, so that no process that this one starts sends messages too.
 */
export const takeNotifySocket = (): string | undefined => {
  const { NOTIFY_SOCKET: socket } = process.env;
  delete process.env.NOTIFY_SOCKET;
  return socket;
};
