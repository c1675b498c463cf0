/** The dependencies of all ports. */
import type { RouteTable } from '#src/gateway/config.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';

export type PortDeps = {
  installation: Installation;
  settings: Settings;
  /** The table that is served now. */
  routeTable: () => RouteTable;
  origin: string;
  /** Origins of this program's own receivers, which webhooks may always reach. */
  ownOrigins: readonly string[];
  /** Registers a function that runs when the program stops. */
  onStop: (stop: () => Promise<void>) => void;
};
