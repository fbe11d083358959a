/* Keeps what the library prints to std::cerr, and lets it pass. */
#include "messages.h"

#include <iostream>
#include <streambuf>
#include <string>

struct messages : std::streambuf {
    messages() : under(std::cerr.rdbuf(this))
    {
    }
    ~messages() override
    {
        std::cerr.rdbuf(under);
    }

    int_type overflow(int_type c) override
    {
        if (traits_type::eq_int_type(c, traits_type::eof()))
            return traits_type::not_eof(c);
        char one = traits_type::to_char_type(c);
        return xsputn(&one, 1) == 1 ? c : traits_type::eof();
    }

    std::streamsize xsputn(const char *said, std::streamsize size) override
    {
        if (text.size() < MESSAGES_SIZE)
            text.append(said, std::min<size_t>(static_cast<size_t>(size), MESSAGES_SIZE - text.size()));
        return under->sputn(said, size);
    }

    int sync() override
    {
        return under->pubsync();
    }

    std::string text;
    std::streambuf *under;
};

extern "C" struct messages *messages_open(void)
{
    return new messages;
}

extern "C" void messages_clear(struct messages *messages)
{
    messages->text.clear();
}

extern "C" const char *messages_text(const struct messages *messages)
{
    return messages->text.c_str();
}

extern "C" void messages_close(struct messages *messages)
{
    delete messages;
}
