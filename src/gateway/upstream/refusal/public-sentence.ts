/**
 * Pure: lets a text of an upstream through to a caller only when nothing in it looks like the inside of a program. Frameworks
 * in development mode put stack traces, paths, class names and SQL into the same members as the sentences for a caller.
 */

const charactersMax = 2_048;
/** A sentence for a caller has a few lines; a debug report in plain text has many. */
const linesMax = 4;

/** Each reads a bounded number of characters from any start. A wrong hit costs the caller a sentence, a miss shows internals. */
const internals: readonly RegExp[] = [
  // Markup, also `<class 'int'>` and `<lambda>`.
  /<[/!?]?[a-z][^<>]{0,200}>/i,
  // Stack traces.
  /\b(?:traceback|stack ?trace|caused by:|panic:|goroutine \d)/i,
  /[\r\n][ \t]{0,16}at \S/,
  /\bat [\w$.<>/-]{1,200}(?: \[as \w{1,80}\])? ?\((?:native|unknown|<anonymous>|[^()\s]{1,300}:\d)/i,
  /\bline \d+, in \b|:line \d/,
  // Paths and source files.
  /\bfile:\/\/|\b[a-z]:\\|\\\\\w|node_modules|site-packages|node:internal/i,
  /(?:^|[\s"'`(=:,[])\/(?:bin|etc|mnt|opt|private|proc|root|srv|sys|tmp|usr|var)\/[\w.@-]/i,
  // These begin JSON pointers too.
  /(?:^|[\s"'`(=:,[])\/(?:app|home|lib|run|users|workspaces?)\/[\w.@-]{1,100}\/[\w.@-]/i,
  /[\w$-]\.(?:[cm]?[jt]sx?|py|java|kt|scala|cs|go|rb|php|rs|cpp)(?:["']?, line\b|:\d|\()/,
  /\/[\w.-]{1,100}\.(?:[cm]?[jt]sx?|py|java|kt|scala|cs|go|rb|php|rs|cpp)\b/,
  // Names of classes and objects.
  /\b[a-z_]\w{1,60}[.$][a-z_]\w{0,60}[.$](?:\w{1,60}[.$]){0,8}[A-Z]/,
  /\b(?:System|Microsoft|Newtonsoft)\.[A-Z]/,
  /\b[A-Za-z]\w{0,80}Exception\b/,
  /\b[A-Z]\w{0,80}Error(?=:| at |\()/,
  /\b0x[0-9a-f]{6}|\w@[0-9a-f]{6,8}\b/i,
  // SQL and the messages of databases.
  /\bselect\b.{1,400}\bfrom\b.{1,200}\b(?:where|join|limit|order by)\b/i,
  /\bSELECT\b.{1,400}\bFROM\b/,
  /\b(?:insert into|delete from|(?:create|alter|drop) table)\s+["'`\w.]/i,
  /\bupdate\s+["'`\w.]{1,100}\s+set\s/i,
  /\bSQLSTATE\b|\bORA-\d{5}|\bviolates [a-z-]{1,20} ?\w{0,20} constraint|\bconstraint failed\b|\bsyntax error at or near\b/i,
  /\b(?:relation|column) \S{1,100} does not exist\b|\bDuplicate entry\b|\bcould not execute\b/i,
  // Credentials and addresses of stores.
  /\beyJ[\w-]{8}|\bBearer [\w.~+/-]{16}/,
  /\b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|rediss?|amqps?|jdbc):\S/i,
];

export const revealsInternals = (text: string): boolean => internals.some((pattern) => pattern.test(text));

/** The start of a text for the caller; undefined for other values, empty texts, debug reports and texts with internals. */
export const publicSentence = (value: unknown): string | undefined => {
  if (typeof value !== 'string') return undefined;
  const text = value.trim().slice(0, charactersMax);
  if (text === '' || text.split(/\r\n|[\n\r]/, linesMax + 1).length > linesMax || revealsInternals(text))
    return undefined;
  return text;
};
