/** The path that the demo answers, for commands that load nothing of the demo itself. */
import type { Settings } from './config.ts';

/** The demo answers every path that begins so, before the routes. */
export const receiverPath = '/demo/receiver';

/**
 * False: these settings exclude the demo, which belongs to a trial on one machine: never with a database server of the operator
 * or in production. With TLS its webhooks could not reach its receiver, since few certificates name 127.0.0.1. True: the store
 * says whether it was made.
 */
export const mayHaveDemo = (settings: Settings): boolean =>
  settings.role === 'all' &&
  settings.database_url === undefined &&
  settings.environment !== 'production' &&
  settings.tls.cert_file === undefined;
