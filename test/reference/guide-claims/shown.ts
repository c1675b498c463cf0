/** Whether an answer of the program is the one that a page shows: shortened, with `…` where a reader's text differs. */

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** `…` stands for any text, also for none. */
const fitsText = (shown: string, actual: string): boolean =>
  new RegExp(`^${shown.split('…').map(escaped).join('[\\s\\S]*')}$`).test(actual);

/** Where `actual` differs from what is shown; empty when it has all of it. Lists may have further items at their end. */
export const differences = (shown: unknown, actual: unknown, at = ''): string[] => {
  if (typeof shown === 'string' && (typeof actual === 'string' || typeof actual === 'number'))
    return fitsText(shown, String(actual)) && typeof actual === 'string'
      ? []
      : [`${at}: ${shown} is ${String(actual)}`];
  if (Array.isArray(shown)) {
    if (!Array.isArray(actual)) return [`${at}: is no list`];
    if (shown.length === 0 && actual.length > 0) return [`${at}: is not empty`];
    return shown.flatMap((item, index) => differences(item, actual[index], `${at}/${index}`));
  }
  if (typeof shown === 'object' && shown !== null) {
    if (typeof actual !== 'object' || actual === null) return [`${at}: is ${JSON.stringify(actual)}`];
    return Object.entries(shown).flatMap(([name, value]) =>
      differences(value, (actual as Record<string, unknown>)[name], `${at}/${name}`),
    );
  }
  return shown === actual ? [] : [`${at}: ${JSON.stringify(shown)} is ${JSON.stringify(actual)}`];
};

type Message = { status: string; headers: Map<string, string>; body: string };

/** A status line, header fields and a body, as `curl -i` prints them. */
export const readMessage = (text: string): Message => {
  const [head = '', ...rest] = text.replaceAll('\r\n', '\n').trim().split('\n\n');
  const [status = '', ...fields] = head.split('\n');
  const headers = fields.map((field): [string, string] => {
    const [name = '', ...value] = field.split(':');
    return [name.trim().toLowerCase(), value.join(':').trim()];
  });
  return { status, headers: new Map(headers), body: rest.join('\n\n').trim() };
};

/** As `differences`, for a shown message. */
export const messageDifferences = (shownText: string, actualText: string): string[] => {
  const [shown, actual] = [readMessage(shownText), readMessage(actualText)];
  return [
    ...(fitsText(shown.status, actual.status) ? [] : [`status: ${shown.status} is ${actual.status}`]),
    ...[...shown.headers].flatMap(([name, value]) => {
      const got = actual.headers.get(name);
      return got !== undefined && fitsText(value, got) ? [] : [`${name}: ${value} is ${got}`];
    }),
    ...(shown.body === '' ? [] : differences(JSON.parse(shown.body), JSON.parse(actual.body))),
  ];
};
