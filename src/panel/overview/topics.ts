/** Topic of the start page. */
import type { Topic } from '../live/topic.ts';
import type { Ports } from '../ports/ports.ts';
import { type Role, roles } from '../ports/role.ts';
import type { ListedUser } from '../ports/staff.ts';
import { countDryRuns, lastVerification } from './security-cards.ts';

/** What the start page of the viewer's role shows, but for what is read from the audit. */
export const overviewTopic = 'start-page';

type Read = (ports: Ports, user: ListedUser) => readonly Promise<unknown>[];

const shownTo: Readonly<Partial<Record<Role, Read>>> = {
  owner: ({ overview }, { restaurants }) => [overview.owner(restaurants)],
  support: ({ overview }) => [overview.callers(), overview.refusals()],
  security: (ports) => [ports.overview.callers(), countDryRuns({ ports }), lastVerification({ ports })],
  admin: (ports) => [
    ports.overview.installation(),
    ports.overview.callers(),
    countDryRuns({ ports }),
    lastVerification({ ports }),
    ports.overview.program(),
  ],
};

export const overviewTopics: readonly Topic[] = [
  {
    name: overviewTopic,
    roles,
    about: 'viewer',
    mark: async (ports, userId) => {
      const user = await ports.staff.users.find(userId);
      return JSON.stringify(await Promise.all((user && shownTo[user.role]?.(ports, user)) ?? []));
    },
  },
];
