/** Topic of the start page. */
import type { Topic } from '../live/topic.ts';
import type { Ports } from '../ports/ports.ts';
import { type Role, roles } from '../ports/role.ts';
import { countDryRuns, lastVerification } from './security-cards.ts';

/** What the start page of the viewer's role shows, but for what is read from the audit. */
export const overviewTopic = 'start-page';

type Read = (ports: Ports) => readonly Promise<unknown>[];

/** Roles whose users see the same, so that it is read once for all of them. */
const shownTo: Readonly<Partial<Record<string, Read>>> = {
  support: ({ overview }) => [overview.callers(), overview.refusals()],
  security: (ports) => [ports.overview.callers(), countDryRuns({ ports }), lastVerification({ ports })],
  admin: (ports) => [
    ports.overview.installation(),
    ports.overview.callers(),
    countDryRuns({ ports }),
    lastVerification({ ports }),
    ports.overview.program(),
  ],
} satisfies Partial<Record<Role, Read>>;

const shownToUser = async ({ staff, overview }: Ports, userId: string): Promise<unknown> => {
  const user = await staff.users.find(userId);
  return user?.role === 'owner' ? overview.owner(user.restaurants) : undefined;
};

export const overviewTopics: readonly Topic[] = [
  {
    name: overviewTopic,
    roles,
    about: 'role',
    mark: async (ports, subject) => {
      const read = shownTo[subject];
      return (
        JSON.stringify(read === undefined ? await shownToUser(ports, subject) : await Promise.all(read(ports))) ?? ''
      );
    },
  },
];
