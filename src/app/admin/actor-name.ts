import { userInfo } from 'node:os';

/** The user of the command line, for the audit; a container may have no name for its user. */
export const actorName = (): string => {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return 'cli:unknown';
  }
};
