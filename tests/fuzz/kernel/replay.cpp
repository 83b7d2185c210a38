// Runs a harness without libFuzzer: replay CORPUS... [--runs N] [--seed S].
//
// A corpus is a text file with an input in hexadecimal digits in each line; lines with # are comments. Other
// files are inputs themselves. Then N inputs follow that are mutations of these or random.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

using Bytes = std::vector<uint8_t>;

static std::vector<Bytes> read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        std::exit(2);
    }
    if (!path.ends_with(".hex")) return {Bytes(std::istreambuf_iterator<char>(file), {})};
    std::vector<Bytes> inputs;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with('#')) continue;
        Bytes input;
        for (size_t k = 0; k + 1 < line.size(); k += 2)
            input.push_back(static_cast<uint8_t>(std::stoi(line.substr(k, 2), nullptr, 16)));
        inputs.push_back(std::move(input));
    }
    return inputs;
}

// Changes, inserts or removes some bytes.
static void mutate(Bytes& input, std::mt19937& random) {
    for (unsigned k = 1 + random() % 8; k > 0; --k) {
        const size_t at = random() % (input.size() + 1);
        const uint8_t byte = static_cast<uint8_t>(random());
        if (random() % 4 == 0)
            input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), byte);
        else if (at < input.size() && random() % 4 == 0)
            input.erase(input.begin() + static_cast<std::ptrdiff_t>(at));
        else if (at < input.size())
            input[at] = byte;
    }
}

static const Bytes* current = nullptr;

// Prints the input that ends the program, as a line of the corpus.
static void report(int signal) {
    std::fprintf(stderr, "signal %d, input:\n", signal);
    for (const uint8_t byte : *current) std::fprintf(stderr, "%02x", byte);
    std::fprintf(stderr, "\n");
    std::_Exit(1);
}

static void run(const Bytes& input) {
    current = &input;
    LLVMFuzzerTestOneInput(input.data(), input.size());
}

int main(int argc, char** argv) {
    for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL}) std::signal(signal, report);
    std::vector<Bytes> inputs{{}};
    long runs = 0;
    unsigned seed = 0;
    for (int k = 1; k < argc; ++k) {
        const std::string argument = argv[k];
        if (argument == "--runs" && k + 1 < argc)
            runs = std::atol(argv[++k]);
        else if (argument == "--seed" && k + 1 < argc)
            seed = static_cast<unsigned>(std::atol(argv[++k]));
        else
            for (Bytes& input : read(argument)) inputs.push_back(std::move(input));
    }
    for (const Bytes& input : inputs) run(input);
    std::mt19937 random(seed);
    for (long k = 0; k < runs; ++k) {
        Bytes input = random() % 4 ? inputs[random() % inputs.size()] : Bytes(random() % 600);
        if (random() % 4 == 0)
            for (uint8_t& byte : input) byte = static_cast<uint8_t>(random());
        mutate(input, random);
        run(input);
    }
    std::printf("%zu inputs, %ld mutations\n", inputs.size(), runs);
}
