/** Route tables and OpenAPI documents, for the command line. Neither direction needs a database. */
import { exportRoutes, importRoutes, readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import { programVersion } from '#src/platform/log.ts';
import { loadSettings, type SettingsSource } from './config.ts';

export { importRoutes };

/** The current route table as an OpenAPI 3.1 document. Throws SettingsError, or the problems of the table. */
export const exportCurrentRoutes = (source: SettingsSource): Record<string, unknown> => {
  const { gateway, origin, port } = loadSettings({ ...source, flags: {} });
  return exportRoutes(readRouteTable(routesFileOf(gateway)), origin ?? `http://127.0.0.1:${port}`, programVersion);
};
