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
