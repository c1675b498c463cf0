/** The topics that a page watches, and the address of its event stream. */
import { Fault } from '#src/contract/fault.ts';
import type { Page } from '../page/page.ts';
import type { SignedInUser } from '../ports/staff.ts';
import type { ChangeWatch } from './change-watch.ts';
import type { WatchedTopic } from './event-streams.ts';
import type { Topic } from './topic.ts';

/** Path of the event streams below /panel. */
export const eventsPath = '/events';

const topicsMax = 8;
const subjectLengthMax = 100;

/** The subjects of the topics of one page. */
type Subjects = { restaurant: string; client: string; viewer: string; role: string };

type Viewer = Pick<SignedInUser, 'id' | 'role'>;

/** `paths`: of the restaurant and the client of the page's path, '' where it has none. */
const subjectsOf = ({ id, role }: Viewer, paths: Pick<Subjects, 'restaurant' | 'client'>): Subjects => ({
  ...paths,
  viewer: id,
  role: role === 'owner' || role === 'contact' ? id : role,
});

const subjectOf = ({ about }: Topic, subjects: Subjects): string => (about === undefined ? '' : subjects[about]);

/**
 * The address contains the current marks. They are read before the page reads its data, so the stream reports every change
 * since then. Undefined when the page watches no topic.
 */
export const streamUrlOf = async (
  watch: ChangeWatch,
  page: Pick<Page, 'topics'>,
  user: Viewer,
  paths: Pick<Subjects, 'restaurant' | 'client'>,
): Promise<string | undefined> => {
  const subjects = subjectsOf(user, paths);
  if (page.topics === undefined || page.topics.length === 0) return undefined;
  const marked = await Promise.all(
    page.topics.map(async (name) => {
      const topic = watch.topic(name);
      if (topic === undefined) throw new Error(`a page watches the unknown topic ${name}`);
      return `${name}~${(await watch.markOf(topic, subjectOf(topic, subjects))) ?? ''}`;
    }),
  );
  const fields = new URLSearchParams(marked.map((text): [string, string] => ['topic', text]));
  // The viewer is not in the address; the stream takes it from the session.
  for (const name of ['restaurant', 'client'] as const) if (paths[name] !== '') fields.set(name, paths[name]);
  return `/panel${eventsPath}?${fields}`;
};

/**
 * Throws when a page watches an unknown topic, or one that a role of the page may not watch. Called once at the start.
 */
export const assertTopics = (watch: Pick<ChangeWatch, 'topic'>, pages: readonly Page[]): void => {
  for (const page of pages) {
    for (const name of page.topics ?? []) {
      const topic = watch.topic(name);
      const fits =
        topic !== undefined &&
        page.roles.every((role) => topic.roles.includes(role)) &&
        ((topic.about !== 'restaurant' && topic.about !== 'client') || page.path.includes(`/:${topic.about}`));
      if (!fits) throw new Error(`the page ${page.path} cannot watch ${name}`);
    }
  }
};

/** The topics of the address. Throws NOT_FOUND for a topic or subject that the user may not see. */
export const readTopics = (
  watch: ChangeWatch,
  query: URLSearchParams,
  user: Pick<SignedInUser, 'id' | 'role' | 'restaurants' | 'clients'>,
): WatchedTopic[] => {
  const paths = { restaurant: query.get('restaurant') ?? '', client: query.get('client') ?? '' };
  const subjects = subjectsOf(user, paths);
  const isHidden = {
    restaurant: user.role === 'owner' && !user.restaurants.includes(subjects.restaurant),
    client: user.role === 'contact' && !user.clients.includes(subjects.client),
    viewer: false,
    role: false,
  };
  const asked = query.getAll('topic');
  if (asked.length === 0 || asked.length > topicsMax) throw noSuchTopic();
  return asked.map((text) => {
    const [name = '', mark = ''] = text.split('~', 2);
    const topic = watch.topic(name);
    if (topic === undefined || !topic.roles.includes(user.role)) throw noSuchTopic();
    const subject = subjectOf(topic, subjects);
    if (topic.about !== undefined && (subject === '' || subject.length > subjectLengthMax)) throw noSuchTopic();
    if (topic.about !== undefined && isHidden[topic.about]) throw noSuchTopic();
    return { topic, subject, mark: mark === '' ? undefined : mark };
  });
};

const noSuchTopic = (): Fault => new Fault('NOT_FOUND', 'There is no such topic');
