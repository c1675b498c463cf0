/** Where settings are read from. The only file that reads `process.env`. */

export type SettingsSource = {
  env: Readonly<Record<string, string | undefined>>;
  configFile?: string | undefined;
};

/** The environment of this process, and an optional file. */
export const processSettingsSource = (configFile?: string): SettingsSource => ({ env: process.env, configFile });
