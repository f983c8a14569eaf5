// The thread of a PageReader: it reads pages and packs their rows in parallel with the main thread.

import {parentPort} from 'node:worker_threads';
import {buffersOf} from './packed-rows.ts';
import {type PageAnswer, type PageTask, readPage} from './page-reader.ts';

parentPort?.on('message', ({id, task}: {readonly id: number; readonly task: OwnedTask}) => {
  const message = {...readTask(id, task), body: task.body};
  parentPort?.postMessage(message, [...buffersOf(message.content?.rows), task.body.buffer]);
});

/** The thread owns the body until it returns it. */
type OwnedTask = PageTask & Pick<PageAnswer, 'body'>;

function readTask(id: number, task: PageTask): Omit<PageAnswer, 'body'> {
  try {
    return {id, content: readPage(task)};
  } catch (error) {
    const {name, message} = error instanceof Error ? error : new Error(String(error));
    return {id, failure: {name, message}};
  }
}
