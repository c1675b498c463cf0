/** A gateway without a core, as a process of its own: it serves the reference too. */
import { randomBytes } from 'node:crypto';
import { createTestDatabase } from '../support/database.ts';
import { startProgram } from '../support/program.ts';

export const startGatewayAlone = async (
  env: Record<string, string> = {},
): Promise<{ url: string; stop(): Promise<void> }> => {
  const database = await createTestDatabase();
  const program = await startProgram({
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ROLE: 'gateway',
    // No server listens at this address.
    ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:9',
    ...env,
  });
  return {
    url: program.url,
    stop: async () => {
      await program.stop();
      await database.drop();
    },
  };
};
