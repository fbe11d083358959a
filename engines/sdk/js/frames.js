'use strict';
/*
 * Frames of the protocol (proto/engine.proto) on blocking descriptors: a length of 4 bytes, then a message or a chunk of
 * payload. Requests are read and replies are written in order, so that nothing is gained by asynchronous streams.
 */
const fs = require('fs');

const MESSAGE_LIMIT = 16 << 20;
const CHUNK_LIMIT = 1 << 20;

/* Reads exactly `size` bytes. Returns null at the end of the file, when `size` bytes do not come any more. */
function readBytes(fd, size) {
    const buffer = Buffer.allocUnsafe(size);
    for (let at = 0; at < size;) {
        const count = fs.readSync(fd, buffer, at, size - at, null);
        if (count === 0)
            return null;
        at += count;
    }
    return buffer;
}

/* The next frame, or null at the end of the file. Throws when it is longer than `limit`. */
function readFrame(fd, limit) {
    const head = readBytes(fd, 4);
    if (!head)
        return null;
    const size = head.readUInt32LE(0);
    if (size > limit)
        throw new Error(`a frame of ${size} bytes, where ${limit} are allowed`);
    return readBytes(fd, size);
}

function readMessage(fd) {
    return readFrame(fd, MESSAGE_LIMIT);
}

/* A payload of `size` bytes from its chunks. */
function readPayload(fd, size) {
    const payload = Buffer.alloc(size);
    for (let at = 0; at < size;) {
        const chunk = readFrame(fd, CHUNK_LIMIT);
        if (!chunk || chunk.length === 0 || chunk.length > size - at)
            throw new Error('a payload is not as long as announced');
        chunk.copy(payload, at);
        at += chunk.length;
    }
    return payload;
}

function writeBytes(fd, buffer) {
    for (let at = 0; at < buffer.length;)
        at += fs.writeSync(fd, buffer, at, buffer.length - at);
}

function writeFrame(fd, data) {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(data.length, 0);
    writeBytes(fd, data.length < 65536 ? Buffer.concat([head, data]) : head);
    if (data.length >= 65536)
        writeBytes(fd, data);
}

/* A message and the payloads that it announces. */
function writeMessage(fd, message, payloads) {
    writeFrame(fd, message);
    for (const payload of payloads)
        for (let at = 0; at < payload.length; at += CHUNK_LIMIT)
            writeFrame(fd, payload.subarray(at, Math.min(at + CHUNK_LIMIT, payload.length)));
}

module.exports = { readMessage, readPayload, writeMessage };
