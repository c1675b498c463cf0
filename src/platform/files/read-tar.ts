/**
 * Unpacks the tar archives that PostgreSQL writes: files, folders, and names of at most 100 bytes (POSIX ustar). Packages for
 * tar would add the whole format, with its links and owners, which must be refused here.
 */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';

const blockBytes = 512;
const readBytes = 256 * 1024;

/** Places in a header block: offset and length. */
const places = { name: [0, 100], size: [124, 12], checksum: [148, 8], kind: [156, 1] } as const;
const kinds = { file: '0', folder: '5' } as const;

type Entry = { name: string; size: number; kind: string };

const textAt = (header: Buffer, [offset, length]: readonly [number, number]): string =>
  header.toString('utf8', offset, offset + length).replace(/\0.*$/s, '');

/** Octal digits, or for large files a number in base 256 whose first byte is 0x80. */
const numberAt = (header: Buffer, place: readonly [number, number]): number => {
  const [offset, length] = place;
  if (header[offset] === 0x80) return Number(header.readBigUInt64BE(offset + length - 8));
  return Number.parseInt(textAt(header, place).trim() || '0', 8);
};

/** Undefined for a block of zeros, which ends the archive. */
const readHeader = (header: Buffer): Entry | undefined => {
  if (header.every((byte) => byte === 0)) return undefined;
  const [offset, length] = places.checksum;
  const sum = header.reduce((total, byte, at) => total + (at >= offset && at < offset + length ? 0x20 : byte), 0);
  if (sum !== numberAt(header, places.checksum))
    throw new Error('the archive is damaged: a header has a wrong checksum');
  return { name: textAt(header, places.name), size: numberAt(header, places.size), kind: textAt(header, places.kind) };
};

/** A place outside the folder is refused. */
const placeOf = (folder: string, name: string): string => {
  const inside = normalize(name);
  if (inside.startsWith('..') || inside.startsWith('/')) throw new Error(`the archive names a place outside: ${name}`);
  return join(folder, inside);
};

const make = async (folder: string, { name, kind }: Entry): Promise<FileHandle | undefined> => {
  const place = placeOf(folder, name);
  if (kind === kinds.folder) {
    await mkdir(place, { recursive: true, mode: 0o700 });
    return undefined;
  }
  if (kind !== kinds.file) throw new Error(`the archive holds ${name}, which is neither a file nor a folder`);
  await mkdir(dirname(place), { recursive: true, mode: 0o700 });
  return open(place, 'wx', 0o600);
};

export type UnpackEvents = {
  /** Gets the number of bytes that were read so far. */
  onBytes(bytes: number): void;
  /** Called after each file. An error that it throws ends the unpacking. */
  onFile(name: string, sha256: string): void;
};

/** Writes the content of `archive` below `folder`, with modes 0700 and 0600. Memory is bounded by one part of the archive. */
export const unpackTar = async (archive: string, folder: string, events: UnpackEvents): Promise<void> => {
  const unpacking = createUnpacking(folder, events);
  let bytes = 0;
  try {
    for await (const part of createReadStream(archive, { highWaterMark: readBytes }) as AsyncIterable<Buffer>) {
      await unpacking.take(part);
      bytes += part.length;
      events.onBytes(bytes);
    }
    unpacking.assertOver();
  } finally {
    await unpacking.close();
  }
};

type UnpackedFile = { name: string; handle: FileHandle; hash: Hash };

const createUnpacking = (folder: string, { onFile }: UnpackEvents) => {
  /** The beginning of a header that is not complete yet, after the bytes that fill the block of the file before it. */
  let waiting = Buffer.alloc(0);
  let padding = 0;
  let file: UnpackedFile | undefined;
  let left = 0;
  let isOver = false;

  const close = async (): Promise<void> => {
    await file?.handle.close();
    file = undefined;
  };
  const begin = async (header: Buffer): Promise<void> => {
    const entry = readHeader(header);
    isOver = entry === undefined;
    padding = 0;
    if (entry === undefined) return;
    const handle = await make(folder, entry);
    if (handle !== undefined) file = { name: normalize(entry.name), handle, hash: createHash('sha256') };
    left = entry.size;
    padding = (blockBytes - (entry.size % blockBytes)) % blockBytes;
  };
  return {
    take: async (part: Buffer): Promise<void> => {
      let data = waiting.length === 0 ? part : Buffer.concat([waiting, part]);
      while (data.length > 0) {
        const content = data.subarray(0, left);
        if (content.length > 0) {
          await file?.handle.writeFile(content);
          file?.hash.update(content);
        }
        left -= content.length;
        data = data.subarray(content.length);
        if (left > 0) break;
        const finished = file;
        await close();
        if (finished !== undefined) onFile(finished.name, finished.hash.digest('hex'));
        if (data.length < padding + blockBytes) break;
        const header = data.subarray(padding, padding + blockBytes);
        data = data.subarray(padding + blockBytes);
        await begin(header);
      }
      waiting = Buffer.from(data);
    },
    assertOver: (): void => {
      if (!isOver) throw new Error('the archive is damaged: it ends in the middle');
    },
    close,
  };
};
